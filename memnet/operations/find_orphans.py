"""Find out which histories have no document."""

import asyncio
from collections.abc import Collection

from memnet.domain import envelope
from memnet.domain.document import DocumentKey, UserScope
from memnet.stores import DocumentStore

PAGE = 1000
PARALLEL = 16


async def find_orphans(scope: UserScope, doc_ids: Collection[str], *, documents: DocumentStore) -> frozenset[str]:
    """Return those of `doc_ids` that no document of the user has, be it deleted or emptied.

    Whoever has listed the records before gets none of a document that was created meanwhile: its records come after it.
    An import that is under way is the other way round: its records may have no document yet. Raises HistoryBroken if a
    document cannot be read, for it might be any of them, Unavailable.
    """
    left = set(doc_ids)
    gate = asyncio.Semaphore(PARALLEL)

    async def one(key: DocumentKey) -> None:
        async with gate:
            stored = await documents.get(key)
        if stored is not None:
            left.discard(envelope.load(stored.data).doc_id)

    cursor: str | None = None
    while left:
        page = await documents.list(scope, "", limit=PAGE, cursor=cursor)
        await asyncio.gather(*(one(row.key) for row in page.items))
        cursor = page.next_cursor
        if cursor is None:
            break
    return frozenset(left)
