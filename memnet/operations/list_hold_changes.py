"""List all that ever happened to the legal hold on a place, and believe it only as a whole."""

import asyncio
from collections.abc import Sequence

from memnet.domain import hold as hold_records
from memnet.domain.errors import HistoryBroken
from memnet.domain.hold import HoldChange, HoldKey, HoldPlace
from memnet.stores import HoldStore

PAGE = 1000
AT_ONCE = 16


async def list_hold_changes(place: HoldPlace, *, holds: HoldStore) -> Sequence[HoldChange]:
    """Return every change that is left, the oldest first; empty if there never was a hold.

    Raises HistoryBroken if one cannot be read, is missing or was altered, Unavailable: from neither may anyone conclude
    that there is no hold.
    """
    keys: list[HoldKey] = []
    cursor: str | None = None
    while True:
        page = await holds.list(place, limit=PAGE, cursor=cursor)
        keys += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    gate = asyncio.Semaphore(AT_ONCE)

    async def read(key: HoldKey) -> bytes | None:
        async with gate:
            return await holds.read(key)

    found = list(zip(keys, await asyncio.gather(*map(read, keys)), strict=True))
    if place.user_id is not None:
        # An erasure that goes on meanwhile takes the oldest away; the newest is what counts.
        while len(found) > 1 and found[0][1] is None:
            del found[0]
    changes: list[HoldChange] = []
    for key, data in found:
        if data is None:
            raise HistoryBroken("A stored legal hold is gone.", hold=key.blob_name)
        changes.append(hold_records.load(key, data))
    hold_records.check_row(changes)
    return changes
