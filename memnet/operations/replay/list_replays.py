"""List what became of a user's conversations."""

import asyncio
from typing import Any

from memnet.domain.core.errors import ReplayNotFound
from memnet.domain.core.scope import UserScope
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.operations.replay.get_replay import get_replay
from memnet.ports import Page
from memnet.stores import ItemStore

PAGE = 25
"""The most of one page: each replay is read, and each of its conflicts, too."""


async def list_replays(scope: UserScope, *, limit: int, cursor: str | None, records: ItemStore) -> Page[dict[str, Any]]:
    """Return the replays, each as `get_replay` does, in the order of their ids, which is no order in time.

    A page may be short. Raises InvalidCursor, HistoryCorrupt, Unavailable.
    """
    page = await records.list(scope, ItemKind.REPLAYS, limit=min(limit, PAGE), cursor=cursor)
    found = await asyncio.gather(*(_read(key, records) for key in page.items))
    return Page([replay for replay in found if replay is not None], page.next_cursor)


async def _read(key: ItemKey, records: ItemStore) -> dict[str, Any] | None:
    try:
        return await get_replay(key.scope, key.name, records=records)
    except ReplayNotFound:
        return None
