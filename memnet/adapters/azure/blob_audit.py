"""AuditLog on Azure Blob Storage: one blob per record, created once."""

from collections import OrderedDict
from datetime import datetime

from memnet.adapters.azure.blob_container import BlobContainer
from memnet.domain.document import UserScope
from memnet.domain.errors import HistoryBroken, Unavailable
from memnet.domain.identifiers import check_identifier
from memnet.ports import Page, StoreConflict, Vault


class BlobAuditLog:
    """The AuditLog port; errors as the port says, and InvalidIdentifier for a change id that cannot be one."""

    def __init__(self, container: BlobContainer, vault: Vault, *, known_limit: int = 100_000) -> None:
        """`vault` seals the records' values; `known_limit` bounds how many standing records this process remembers."""
        self.vault = vault
        self._container = container
        self._known: OrderedDict[str, None] = OrderedDict()
        self._known_limit = known_limit

    async def append(self, scope: UserScope, change_id: str, data: bytes) -> None:
        """Create the record. Raises HistoryBroken, ErasureRunning, Unavailable."""
        name = _name(scope, change_id)
        await self._append(scope, name, data, change_id)
        self._remember(name)

    def stands(self, scope: UserScope, change_id: str) -> bool:
        """Say whether this process has written or found the record."""
        return _name(scope, change_id) in self._known

    async def read(self, scope: UserScope, change_id: str) -> bytes | None:
        """Read one record. Raises Unavailable."""
        name = _name(scope, change_id)
        stored = await self._container.read(name)
        if stored is None:
            return None
        self._remember(name)
        return stored.data

    async def list(self, scope: UserScope, prefix: str, *, limit: int, cursor: str | None) -> Page[str]:
        """List change ids in name order. Raises InvalidCursor, Unavailable."""
        return await self._list(f"{scope.prefix}audit/", prefix, limit, cursor)

    async def delete(self, scope: UserScope, change_id: str, *, known_at: datetime | None = None) -> None:
        """Remove one record. Raises Unavailable."""
        name = _name(scope, change_id)
        self._known.pop(name, None)
        await self._container.delete(name, known_at=known_at)

    async def append_baseline(self, scope: UserScope, change_id: str, data: bytes) -> None:
        """Create the baseline of a change. Raises HistoryBroken, Unavailable."""
        await self._append(scope, _name(scope, change_id, "baselines"), data, change_id)

    async def read_baseline(self, scope: UserScope, change_id: str) -> bytes | None:
        """Read the baseline of a change. Raises Unavailable."""
        stored = await self._container.read(_name(scope, change_id, "baselines"))
        return None if stored is None else stored.data

    async def list_baselines(self, scope: UserScope, prefix: str, *, limit: int, cursor: str | None) -> Page[str]:
        """List the changes that have a baseline in name order. Raises InvalidCursor, Unavailable."""
        return await self._list(f"{scope.prefix}baselines/", prefix, limit, cursor)

    async def delete_baseline(self, scope: UserScope, change_id: str, *, known_at: datetime | None = None) -> None:
        """Remove the baseline of a change. Raises Unavailable."""
        await self._container.delete(_name(scope, change_id, "baselines"), known_at=known_at)

    async def _append(self, scope: UserScope, name: str, data: bytes, change_id: str) -> None:
        try:
            await self._container.write(name, data, replaces=None, metadata={}, of=scope)
        except StoreConflict:
            stored = await self._container.read(name)
            if stored is None:
                raise Unavailable(dependency="blob_storage") from None
            if stored.data != data:
                raise HistoryBroken(change_id=change_id) from None

    async def _list(self, start: str, prefix: str, limit: int, cursor: str | None) -> Page[str]:
        blobs, following = await self._container.list(start + prefix, limit=limit, cursor=cursor, metadata=False)
        names = [str(blob.name) for blob in blobs]
        return Page([name.removeprefix(start).removesuffix(".json") for name in names], following)

    def _remember(self, name: str) -> None:
        self._known[name] = None
        self._known.move_to_end(name)
        if len(self._known) > self._known_limit:
            self._known.popitem(last=False)


def _name(scope: UserScope, change_id: str, folder: str = "audit") -> str:
    return f"{scope.prefix}{folder}/{check_identifier('change_id', change_id)}.json"
