"""Write tombstones over all documents of a user, so that no writer's condition holds any more."""

import asyncio
from datetime import datetime

from memnet.domain.core.errors import HistoryCorrupt, Unavailable
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.documents import envelope
from memnet.ports import StoreConflict
from memnet.stores import DocumentStore

PAGE = 1000
PARALLEL = 16
ATTEMPTS = 100
"""Every lost race is a change that a writer has committed, and each of them can lose the next one."""


async def fence_documents(scope: UserScope, *, known_at: datetime, documents: DocumentStore) -> None:
    """Empty every document there is, on condition that it still is what was read; the same again is fine.

    The user's fence has to be up, or new ones come behind it; `known_at` is when that was known, and no tombstone
    arrives much later. One that cannot be read is left: no writer can read it either. Raises Unavailable.
    """
    cursor: str | None = None
    while True:
        page = await documents.list(scope, "", limit=PAGE, cursor=cursor)
        gate = asyncio.Semaphore(PARALLEL)

        async def one(key: DocumentKey, gate: asyncio.Semaphore = gate) -> None:
            async with gate:
                await _fence(key, known_at, documents)

        outcomes = await asyncio.gather(*(one(row.key) for row in page.items), return_exceptions=True)
        # All end before a failure goes up: none may go on behind the caller's back.
        for outcome in outcomes:
            if outcome is not None:
                raise outcome
        cursor = page.next_cursor
        if cursor is None:
            return


async def _fence(key: DocumentKey, known_at: datetime, documents: DocumentStore) -> None:
    for _ in range(ATTEMPTS):
        stored = await documents.get(key)
        if stored is None:
            return
        try:
            head = envelope.load(stored.data)
        except HistoryCorrupt:
            return
        if head.erased:
            return
        empty = envelope.tombstone(head)
        data, summary = envelope.dump(empty), envelope.summarise(empty)
        try:
            await documents.put(key, data, summary, replaces=stored.storage_etag, known_at=known_at)
        except StoreConflict:
            continue
        return
    raise Unavailable(dependency="blob_storage")
