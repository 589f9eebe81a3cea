"""The audit records below audit/ and the baselines below baselines/: one blob each, created once, never changed."""

from collections import OrderedDict
from datetime import datetime

from memnet.domain.core.errors import HistoryCorrupt, Unavailable
from memnet.domain.core.scope import UserScope, check_identifier
from memnet.ports import Page, StoreConflict
from memnet.stores.blobs import Blobs, stem
from memnet.stores.key_ring import Vault


class AuditLog:
    """The audit records and the baselines. A record is removed only after a baseline replaces it.

    The log stores bytes: its callers seal and unseal the values of records. Every method raises InvalidIdentifier for
    a change id that is not an identifier.
    """

    def __init__(self, blobs: Blobs, vault: Vault, *, known_limit: int = 100_000) -> None:
        """`vault` seals the values of records.

        `known_limit` bounds how many stored records this process remembers.
        """
        self.vault = vault
        self._blobs = blobs
        self._known: OrderedDict[str, None] = OrderedDict()
        self._known_limit = known_limit

    async def append(self, scope: UserScope, change_id: str, data: bytes) -> None:
        """Create the record. It succeeds if the record exists with the same bytes.

        Raises HistoryCorrupt if it exists with other bytes, ErasureRunning, TenantEnded, and Unavailable when the
        outcome is unknown.
        """
        name = _name(scope, change_id)
        await self._append(scope, name, data, change_id)
        self._remember(name)

    def stands(self, scope: UserScope, change_id: str) -> bool:
        """Return whether this process has written or read the record, without a round trip. It may forget."""
        return _name(scope, change_id) in self._known

    async def read(self, scope: UserScope, change_id: str) -> bytes | None:
        """Return one record, or None if it does not exist. Raises Unavailable."""
        name = _name(scope, change_id)
        data = await self._blobs.data(name)
        if data is not None:
            self._remember(name)
        return data

    async def list(self, scope: UserScope, prefix: str, *, limit: int, cursor: str | None) -> Page[str]:
        """List the change ids that start with `prefix`, in name order. Raises InvalidCursor, Unavailable."""
        return await self._list(f"{scope.prefix}audit/", prefix, limit, cursor)

    async def delete(self, scope: UserScope, change_id: str, *, known_at: datetime | None = None) -> None:
        """Remove one record; removing a missing one succeeds.

        `known_at` is the moment at which the caller knew that it may be removed: Azure Storage refuses the request 15
        minutes after it. Raises Unavailable.
        """
        name = _name(scope, change_id)
        self._known.pop(name, None)
        await self._blobs.storage.delete(name, known_at=known_at)

    async def append_baseline(self, scope: UserScope, change_id: str, data: bytes) -> None:
        """Create the baseline of a change, as `append` creates a record."""
        await self._append(scope, _name(scope, change_id, "baselines"), data, change_id)

    async def read_baseline(self, scope: UserScope, change_id: str) -> bytes | None:
        """Return the baseline of a change, or None if it does not exist. Raises Unavailable."""
        return await self._blobs.data(_name(scope, change_id, "baselines"))

    async def list_baselines(self, scope: UserScope, prefix: str, *, limit: int, cursor: str | None) -> Page[str]:
        """List the changes that have a baseline, as `list` lists those that have a record."""
        return await self._list(f"{scope.prefix}baselines/", prefix, limit, cursor)

    async def delete_baseline(self, scope: UserScope, change_id: str, *, known_at: datetime | None = None) -> None:
        """Remove the baseline of a change, as `delete` removes a record."""
        await self._blobs.storage.delete(_name(scope, change_id, "baselines"), known_at=known_at)

    async def _append(self, scope: UserScope, name: str, data: bytes, change_id: str) -> None:
        try:
            await self._blobs.put_of(scope, name, data, replaces=None)
        except StoreConflict:
            stored = await self._blobs.data(name)
            if stored is None:
                raise Unavailable(dependency="blob_storage") from None
            if stored != data:
                raise HistoryCorrupt(change_id=change_id) from None

    async def _list(self, start: str, prefix: str, limit: int, cursor: str | None) -> Page[str]:
        return await self._blobs.rows(start + prefix, lambda blob: stem(blob.name, start), limit=limit, cursor=cursor)

    def _remember(self, name: str) -> None:
        self._known[name] = None
        self._known.move_to_end(name)
        if len(self._known) > self._known_limit:
            self._known.popitem(last=False)


def _name(scope: UserScope, change_id: str, folder: str = "audit") -> str:
    return f"{scope.prefix}{folder}/{check_identifier('change_id', change_id)}.json"
