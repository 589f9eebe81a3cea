"""DocumentStore in a dict. Every call yields to the event loop first, so that races show."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime

from memnet.adapters.memory.catalog_texts import MemoryCatalogTexts
from memnet.adapters.memory.erasures import MemoryErasureStore
from memnet.adapters.memory.tags import Tags
from memnet.domain import cursor as cursors
from memnet.domain.document import DocumentKey, StorageETag, UserScope
from memnet.domain.envelope import DocumentSummary
from memnet.ports import ListedDocument, Page, StoreConflict, StoredDocument


class MemoryDocumentStore:
    """The DocumentStore port for tests; errors as the port says, except that it is never unavailable."""

    def __init__(self, fences: MemoryErasureStore | None = None) -> None:
        """Start empty; nothing is created for users who have a fence in `fences`."""
        self.texts = MemoryCatalogTexts()
        self._fences = fences
        self._stored: dict[DocumentKey, StoredDocument] = {}
        self._summaries: dict[DocumentKey, DocumentSummary] = {}
        self._recent: dict[DocumentKey, StoredDocument] = {}
        self._tags = Tags()

    async def get(self, key: DocumentKey) -> StoredDocument | None:
        """Read the current bytes."""
        await asyncio.sleep(0)
        stored = self._stored.get(key)
        if stored is not None:
            self._recent[key] = stored
        else:
            self._recent.pop(key, None)
        return stored

    def recall(self, key: DocumentKey) -> StoredDocument | None:
        """Return what was last read or written."""
        return self._recent.get(key)

    async def put(
        self,
        key: DocumentKey,
        data: bytes,
        summary: DocumentSummary,
        *,
        replaces: StorageETag | None,
        known_at: datetime | None = None,
    ) -> None:
        """Write iff the stored tag still is `replaces`. Raises StoreConflict, ErasureRunning, TenantEnded."""
        if replaces is None:
            await self.check(key.scope)
        elif known_at is None:
            await self.check_writing(key.scope.tenant_id)
        await asyncio.sleep(0)
        stored = self._stored.get(key)
        if (stored.storage_etag if stored else None) != replaces:
            self._recent.pop(key, None)
            raise StoreConflict
        self._stored[key] = self._recent[key] = StoredDocument(data, self._tags.make())
        self._summaries[key] = summary

    async def list(self, scope: UserScope, prefix: str, *, limit: int, cursor: str | None) -> Page[ListedDocument]:
        """List one user's documents in name order. Raises InvalidCursor."""
        return await self._page(f"{scope.prefix}documents/{prefix}", limit, cursor)

    async def list_all(self, *, limit: int, cursor: str | None) -> Page[ListedDocument]:
        """List everybody's documents in name order. Raises InvalidCursor."""
        return await self._page("tenants/", limit, cursor)

    def names(self) -> Sequence[str]:
        """The names of all that is stored."""
        return list(self.holdings())

    def holdings(self) -> Mapping[str, object]:
        """All that is stored, by name."""
        return {key.blob_name: stored for key, stored in self._stored.items()}

    def drop(self, name: str) -> None:
        """Take the blob of this name out; a missing one is fine."""
        for key in [key for key in self._stored if key.blob_name == name]:
            del self._stored[key], self._summaries[key]

    async def check(self, scope: UserScope) -> None:
        """Look for the user's fence. Raises ErasureRunning."""
        if self._fences is not None:
            await self._fences.check(scope)

    async def check_writing(self, tenant_id: str) -> None:
        """Look for the end of the tenant. Raises TenantEnded."""
        if self._fences is not None:
            await self._fences.check_tenant(tenant_id)

    async def ping(self) -> None:
        """Do nothing: a dict can always serve."""
        await asyncio.sleep(0)

    async def _page(self, prefix: str, limit: int, cursor: str | None) -> Page[ListedDocument]:
        after = "" if cursor is None else cursors.decode(prefix, cursor)
        await asyncio.sleep(0)
        names = {key.blob_name: key for key in self._stored}
        found = sorted(name for name in names if name.startswith(prefix) and name > after)
        rows = [ListedDocument(names[name], self._summaries[names[name]]) for name in found[:limit]]
        more = len(found) > limit
        return Page(rows, cursors.encode(prefix, found[limit - 1]) if more else None)
