"""The base of every store: the storage, and the fences that block writers while a user or a tenant is erased.

A store creates data of a user with `Blobs.put_of`. An existing document is written without checking the fence: an
erasure overwrites it with a tombstone. Before either, the user's changed mark of the hour exists.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
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

ROWS_AT_ONCE = 500
"""Rows of a page that are made before other tasks run: a few milliseconds."""
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class FenceCheck:
    """A check that found no fence. Several writes of one request may rely on it; `Blobs.put_of` says why."""

    scope: UserScope
    dated: datetime
    """When the check began: the date of the requests that rely on it."""
    loop_time: float
    """The same moment by the event loop's clock, which is monotonic."""
    announced: bool = False
    """Whether the user's changed mark of the hour existed when the check ended."""


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
        checked: FenceCheck | None = None,
        announced: bool = True,
    ) -> StorageETag:
        """Write a blob of a user, as `BlobStorage.put` does, unless the user's memory is being erased.

        The request is dated before the fence is checked, here or, with `checked`, earlier. The service refuses a
        request 15 minutes after its date, so no write arrives later than that after the fence was created. The user's
        changed mark exists before the write is sent; `announced=False` is for what upkeep need not know: the records of
        jobs and of upkeep itself. Raises ErasureRunning, TenantEnded, StoreConflict, ValueError for the check of
        another user, and Unavailable when the outcome is unknown.
        """
        if checked is None or (announced and not checked.announced):
            checked = await (self.check_to_write if announced else self.check)(scope)
        if checked.scope != scope:
            raise ValueError("this check is of another user")
        return await self.storage.put(name, data, replaces=replaces, metadata=metadata, known_at=checked.dated)

    async def create_log_of(
        self, scope: UserScope, name: str, *, metadata: Mapping[str, str], known_at: datetime
    ) -> None:
        """Create an append blob of a user, as `BlobStorage.create_log` does, unless the user's memory is being erased.

        `known_at` is a moment before this call, as in `put_of`. Raises as `put_of`.
        """
        await self.check(scope)
        await self.storage.create_log(name, metadata=metadata, known_at=known_at)

    async def check(self, scope: UserScope) -> FenceCheck:
        """Check that the user has no fence. Raises ErasureRunning, TenantEnded, Unavailable."""
        checked = FenceCheck(scope, self.clock.now(), asyncio.get_running_loop().time())
        await self.check_tenant(scope.tenant_id)
        if await self.storage.get(fence_name(scope)) is not None:
            self._marks.refused(scope)
            raise ErasureRunning()
        return checked

    async def check_to_write(self, scope: UserScope) -> FenceCheck:
        """Check the fence for writes that upkeep must know of, and create the changed mark at the same time.

        A process that has found the fence checks it first: else every refused request would create a mark, and the
        erasure would never find its scan clean. Raises ErasureRunning, TenantEnded, Unavailable.
        """
        dated = self.clock.now()
        mark = changed_mark(scope, dated)
        if self._marks.has_checked(mark, dated, self._look_every):
            return replace(await self.check(scope), announced=True)
        await self.check_tenant(scope.tenant_id)
        if self._marks.is_refused(scope):
            checked = await self.check(scope)
            await self._create(mark, dated)
        else:
            found, created = await asyncio.gather(self.check(scope), self._create(mark, dated), return_exceptions=True)
            if isinstance(found, BaseException):
                raise found
            if created is not None:
                raise created
            checked = found
        self._marks.created(mark, dated)
        return replace(checked, dated=dated, announced=True)

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
        found: list[Row] = []
        for start in range(0, len(page.items), ROWS_AT_ONCE):
            found += [made for made in map(row, page.items[start : start + ROWS_AT_ONCE]) if made is not None]
            await asyncio.sleep(0)
        return Page(found, page.next_cursor)

    async def each(self, prefix: str, *, metadata: bool = False) -> AsyncIterator[ListedBlob]:
        """Iterate over all blobs whose names start with `prefix`, in name order. Raises Unavailable."""
        async for blob in rows(partial(self.storage.list, prefix, metadata=metadata)):
            yield blob


class Store:
    """The base of the stores of one kind of blobs."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def check(self, scope: UserScope) -> FenceCheck:
        """Look for the user's fence (one round trip). Raises ErasureRunning, TenantEnded, Unavailable."""
        return await self._blobs.check(scope)

    async def check_to_write(self, scope: UserScope) -> FenceCheck:
        """Check it for writes that upkeep must know of, as `Blobs.check_to_write` does."""
        return await self._blobs.check_to_write(scope)


def stem(name: str, prefix: str) -> str:
    """Return the part of a blob's name between `prefix` and ".json"."""
    return name.removeprefix(prefix).removesuffix(".json")
