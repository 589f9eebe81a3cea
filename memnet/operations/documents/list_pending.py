"""List what waits for confirmation in all of a user's documents."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from memnet.domain.core.scope import DocumentKey, ETag, UserScope
from memnet.domain.documents import envelope
from memnet.domain.documents.confirmation import Waiting, waiting
from memnet.ports import Page
from memnet.service import Service

PAGE = 25
"""The most documents that one page looks at: each is read whole."""


@dataclass(frozen=True, slots=True)
class ListedPending:
    """A pending item, its document and the version that it was read in."""

    key: DocumentKey
    etag: ETag
    waiting: Waiting


async def list_pending(scope: UserScope, service: Service, *, limit: int, cursor: str | None) -> Page[ListedPending]:
    """Return the items of up to `limit` documents (25 at most), in the order of the documents' names.

    A page may be empty before the end. Raises InvalidCursor, HistoryCorrupt, Unavailable.
    """
    page = await service.documents.list(scope, "", limit=min(limit, PAGE), cursor=cursor)
    rows = await asyncio.gather(*(_items(row.key, service) for row in page.items if not row.summary.deleted))
    return Page([item for items in rows for item in items], page.next_cursor)


async def _items(key: DocumentKey, service: Service) -> Sequence[ListedPending]:
    stored = await service.documents.get(key)
    head = envelope.load(stored.data) if stored else None
    if head is None or head.deleted:
        return []
    return [ListedPending(key, head.commit.etag, found) for found in waiting(service.catalog, key, head.content)]
