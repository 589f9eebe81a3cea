"""The base of every store: the storage, and the fences that block writers while a user or a tenant is erased.

A store creates data of a user with `Blobs.put_of`. An existing document is written without checking the fence: an
erasure overwrites it with a tombstone. Before either, the user's changed mark of the hour exists.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from memnet.domain.core.errors import ErasureRunning, TenantEnded
from memnet.domain.core.scope import StorageETag, UserScope
from memnet.domain.governance.erasure import fence_name
from memnet.domain.governance.tenant_erasure import LOOK_EVERY, ended_name
from memnet.domain.upkeep.marks import ChangedMark, changed_mark
from memnet.paging import rows
from memnet.ports import BlobStorage, Clock, ListedBlob, Page, StoreConflict
from memnet.stores.mark_memory import MarkMemory

Row = TypeVar("Row")


class Blobs:
    """The storage as the stores use it; all stores of a process share one."""

    def __init__(self, storage: BlobStorage, clock: Clock, *, look_every: timedelta = LOOK_EVERY) -> None:
        """`look_every` is how long a process relies on its last check of a tenant's end and of a user's fence."""
        self.storage = storage
        self.clock = clock
        self._look_every = look_every
        self._seen_alive: dict[str, datetime] = {}
        self._marks = MarkMemory()

    async def put_of(
        self,
        scope: UserScope,
        name: str,
        data: bytes,
        *,
        replaces: StorageETag | None,
        metadata: Mapping[str, str] | None = None,
        known_at: datetime | None = None,
        announced: bool = True,
    ) -> StorageETag:
        """Write a blob of a user, as `BlobStorage.put` does, unless the user's memory is being erased.

        The request is dated before the fence is checked. The service refuses a request 15 minutes after its date, so no
        write arrives later than that after the fence was created. At the same time the user's changed mark is created;
        `announced=False` is for what upkeep need not know: the records of jobs and of upkeep itself. Raises
        ErasureRunning, TenantEnded, StoreConflict, and Unavailable when the outcome is unknown.
        """
        dated = known_at or self.clock.now()
        if announced:
            await self._announce(changed_mark(scope, dated), dated)
        else:
            await self.check(scope)
        return await self.storage.put(name, data, replaces=replaces, metadata=metadata, known_at=dated)

    async def check(self, scope: UserScope) -> None:
        """Check that the user has no fence. Raises ErasureRunning, TenantEnded, Unavailable."""
        await self.check_tenant(scope.tenant_id)
        if await self.storage.get(fence_name(scope)) is not None:
            self._marks.refused(scope)
            raise ErasureRunning()

    async def ensure_changed_mark(self, scope: UserScope) -> None:
        """Create the user's changed mark of this hour, unless this process has; for changes of existing documents.

        Raises TenantEnded, Unavailable; ErasureRunning: this process has found the user's fence, and it still exists.
        """
        dated = self.clock.now()
        mark = changed_mark(scope, dated)
        if self._marks.has(mark):
            return
        await self.check_tenant(scope.tenant_id)
        if self._marks.is_refused(scope):
            await self.check(scope)
        await self._create(mark, dated)
        self._marks.created(mark)

    async def _announce(self, mark: ChangedMark, dated: datetime) -> None:
        """Check the fence and create the mark at the same time.

        A process that has found the fence checks it first: else every refused request would create a mark, and the
        erasure would never find its scan clean. Raises ErasureRunning, TenantEnded, Unavailable.
        """
        if self._marks.has_checked(mark, dated, self._look_every):
            await self.check(mark.scope)
            return
        await self.check_tenant(mark.scope.tenant_id)
        if self._marks.is_refused(mark.scope):
            await self.check(mark.scope)
            await self._create(mark, dated)
        else:
            outcomes = await asyncio.gather(self.check(mark.scope), self._create(mark, dated), return_exceptions=True)
            for outcome in outcomes:
                if outcome is not None:
                    raise outcome
        self._marks.created(mark, dated)

    async def _create(self, mark: ChangedMark, dated: datetime) -> None:
        with suppress(StoreConflict):
            await self.storage.put(mark.blob_name, b"", replaces=None, known_at=dated)

    async def check_tenant(self, tenant_id: str) -> None:
        """Check that the tenant has not ended, unless the last check is recent.

        Raises TenantEnded, InvalidIdentifier, Unavailable.
        """
        now = self.clock.now()
        seen = self._seen_alive.get(tenant_id)
        # A clock that is set back does not extend a check.
        if seen is not None and timedelta() <= now - seen < self._look_every:
            return
        if await self.storage.get(ended_name(tenant_id)) is not None:
            raise TenantEnded()
        self._seen_alive = {one: at for one, at in self._seen_alive.items() if now - at < self._look_every}
        self._seen_alive[tenant_id] = now

    async def data(self, name: str) -> bytes | None:
        """Return the bytes of a blob, or None if it does not exist. Raises Unavailable."""
        stored = await self.storage.get(name)
        return None if stored is None else stored.data

    async def rows(
        self,
        prefix: str,
        row: Callable[[ListedBlob], Row | None],
        *,
        limit: int,
        cursor: str | None,
        metadata: bool = False,
    ) -> Page[Row]:
        """List a page of the results of `row` for each blob, without None. Raises InvalidCursor, Unavailable."""
        page = await self.storage.list(prefix, limit=limit, cursor=cursor, metadata=metadata)
        return Page([made for made in map(row, page.items) if made is not None], page.next_cursor)

    async def each(self, prefix: str, *, metadata: bool = False) -> AsyncIterator[ListedBlob]:
        """Iterate over all blobs whose names start with `prefix`, in name order. Raises Unavailable."""
        async for blob in rows(partial(self.storage.list, prefix, metadata=metadata)):
            yield blob


class Store:
    """The base of the stores of one kind of blobs."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs


def stem(name: str, prefix: str) -> str:
    """Return the part of a blob's name between `prefix` and ".json"."""
    return name.removeprefix(prefix).removesuffix(".json")
