"""List who read a user's snapshots back."""

import asyncio

from memnet.domain.core.scope import UserScope
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.ports import Page
from memnet.stores import ItemStore

AT_ONCE = 32


async def list_snapshot_reads(scope: UserScope, *, limit: int, cursor: str | None, records: ItemStore) -> Page[bytes]:
    """Return up to `limit` records as JSON, in the order of their times. Raises InvalidCursor, Unavailable."""
    page = await records.list(scope, ItemKind.ACCESSES, limit=limit, cursor=cursor)
    gate = asyncio.Semaphore(AT_ONCE)

    async def read(key: ItemKey) -> bytes | None:
        async with gate:
            stored = await records.read(key)
        return None if stored is None else stored.data

    found = await asyncio.gather(*(read(key) for key in page.items))
    return Page([data for data in found if data is not None], page.next_cursor)
