"""DocumentStore in a dict. Every call yields to the event loop first, so that races show."""

import asyncio
from collections.abc import Sequence
from itertools import count

from memnet.domain import cursor as cursors
from memnet.domain.document import DocumentKey, StorageETag, UserScope
from memnet.domain.envelope import DocumentSummary
from memnet.ports import ListedDocument, Page, StoreConflict, StoredDocument


class MemoryDocumentStore:
    """The DocumentStore port for tests; errors as the port says, except that it is never unavailable."""

    def __init__(self) -> None:
        """Start empty."""
        self._stored: dict[DocumentKey, StoredDocument] = {}
        self._summaries: dict[DocumentKey, DocumentSummary] = {}
        self._recent: dict[DocumentKey, StoredDocument] = {}
        self._writes = count(1)

    async def get(self, key: DocumentKey) -> StoredDocument | None:
        """Read the current bytes."""
        await asyncio.sleep(0)
        stored = self._stored.get(key)
        if stored is not None:
            self._recent[key] = stored
        return stored

    def recall(self, key: DocumentKey) -> StoredDocument | None:
        """Return what was last read or written."""
        return self._recent.get(key)

    async def put(
        self, key: DocumentKey, data: bytes, summary: DocumentSummary, *, replaces: StorageETag | None
    ) -> None:
        """Write iff the stored tag still is `replaces`. Raises StoreConflict."""
        await asyncio.sleep(0)
        stored = self._stored.get(key)
        if (stored.storage_etag if stored else None) != replaces:
            self._recent.pop(key, None)
            raise StoreConflict
        self._stored[key] = self._recent[key] = StoredDocument(data, StorageETag(f'"{next(self._writes)}"'))
        self._summaries[key] = summary

    async def list(self, scope: UserScope, prefix: str, *, limit: int, cursor: str | None) -> Page[ListedDocument]:
        """List one user's documents in name order. Raises InvalidCursor."""
        return await self._page(f"{scope.prefix}documents/{prefix}", limit, cursor)

    async def list_all(self, *, limit: int, cursor: str | None) -> Page[ListedDocument]:
        """List everybody's documents in name order. Raises InvalidCursor."""
        return await self._page("tenants/", limit, cursor)

    def names(self) -> Sequence[str]:
        """The names of all that is stored."""
        return [key.blob_name for key in self._stored]

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
