"""RecordStore in a dict. Every call yields to the event loop first, so that races show."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime

from memnet.adapters.memory.erasures import MemoryErasureStore
from memnet.adapters.memory.tags import Tags
from memnet.domain import cursor as cursors
from memnet.domain.document import StorageETag, UserScope
from memnet.domain.identifiers import check_identifier
from memnet.domain.record import RecordKey, RecordKind
from memnet.ports import Page, StoreConflict, StoredDocument


class MemoryRecordStore:
    """The RecordStore port for tests; errors as the port says, except that it is never unavailable."""

    def __init__(self, fences: MemoryErasureStore | None = None) -> None:
        """Start empty; nothing is written for users who have a fence in `fences`."""
        self._fences = fences
        self._records: dict[RecordKey, StoredDocument] = {}
        self._tags = Tags()

    async def read(self, key: RecordKey) -> StoredDocument | None:
        """Read a record."""
        await asyncio.sleep(0)
        return self._records.get(key)

    async def write(self, key: RecordKey, data: bytes, *, replaces: StorageETag | None) -> StorageETag:
        """Write a record conditionally. Raises StoreConflict, ErasureRunning."""
        if self._fences is not None:
            await self._fences.check(key.scope)
        await asyncio.sleep(0)
        stored = self._records.get(key)
        if (stored.storage_etag if stored else None) != replaces:
            raise StoreConflict
        tag = self._tags.make()
        self._records[key] = StoredDocument(data, tag)
        return tag

    async def delete(self, key: RecordKey, *, tag: StorageETag | None = None, known_at: datetime | None = None) -> None:
        """Remove a record, with `tag` conditionally; dates are not looked at. Raises StoreConflict."""
        await asyncio.sleep(0)
        stored = self._records.get(key)
        if stored is not None and tag not in (None, stored.storage_etag):
            raise StoreConflict
        self._records.pop(key, None)

    def names(self) -> Sequence[str]:
        """The names of all that is stored."""
        return list(self.holdings())

    def holdings(self) -> Mapping[str, object]:
        """All that is stored, by name."""
        return {key.blob_name: stored for key, stored in self._records.items()}

    def drop(self, name: str) -> None:
        """Take the record of this name out; a missing one is fine."""
        for key in [key for key in self._records if key.blob_name == name]:
            del self._records[key]

    async def list(self, scope: UserScope, kind: RecordKind, *, limit: int, cursor: str | None) -> Page[RecordKey]:
        """List a user's records of one kind in name order. Raises InvalidCursor."""
        return await self._list(f"{scope.prefix}{kind}/", kind, limit, cursor)

    async def list_of_tenant(
        self, tenant_id: str, kind: RecordKind, *, limit: int, cursor: str | None
    ) -> Page[RecordKey]:
        """List a tenant's records of one kind in name order. Raises InvalidIdentifier, InvalidCursor."""
        return await self._list(f"tenants/{check_identifier('tenant_id', tenant_id)}/users/", kind, limit, cursor)

    async def _list(self, prefix: str, kind: RecordKind, limit: int, cursor: str | None) -> Page[RecordKey]:
        after = "" if cursor is None else cursors.decode(prefix, cursor)
        await asyncio.sleep(0)
        names = {key.blob_name: key for key in self._records if key.kind is kind}
        found = sorted(name for name in names if name.startswith(prefix) and name > after)
        following = cursors.encode(prefix, found[limit - 1]) if len(found) > limit else None
        return Page([names[name] for name in found[:limit]], following)
