"""Tell all there is to know about the legal hold on a place."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memnet.domain import hold as hold_records
from memnet.domain.errors import HistoryBroken
from memnet.domain.hold import HoldChange, HoldKey, HoldPlace
from memnet.operations.read_hold import read_hold
from memnet.ports import HoldStore

PAGE = 1000
AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class HoldStatus:
    """What covers a place now, and every change of its own hold, the oldest first."""

    covering: Sequence[HoldChange]
    changes: Sequence[HoldChange]

    def members(self) -> dict[str, Any]:
        """What a client is told."""
        holds = [
            {"covers": change.covers, "reason": change.reason, "actor": change.actor, "since": change.at}
            for change in self.covering
        ]
        return {"held": bool(holds), "holds": holds, "changes": [change.members() for change in self.changes]}


async def tell_hold(place: HoldPlace, *, holds: HoldStore) -> HoldStatus:
    """Return whether the place is held, by what, and the history of its own hold.

    A user is held by a hold on its tenant, too. Raises HistoryBroken, Unavailable.
    """
    changes = await _changes(place, holds)
    covering = [change for change in changes[-1:] if change.holds]
    if place.user_id is not None:
        above = await read_hold(HoldPlace(place.tenant_id), holds=holds)
        covering += [above] if above is not None and above.holds else []
    return HoldStatus(covering, changes)


async def _changes(place: HoldPlace, holds: HoldStore) -> list[HoldChange]:
    gate = asyncio.Semaphore(AT_ONCE)

    async def read(key: HoldKey) -> HoldChange:
        async with gate:
            data = await holds.read(key)
        if data is None:
            raise HistoryBroken("A stored legal hold is gone.", hold=key.blob_name)
        return hold_records.load(key, data)

    found: list[HoldChange] = []
    cursor: str | None = None
    while True:
        page = await holds.list(place, limit=PAGE, cursor=cursor)
        found += await asyncio.gather(*map(read, page.items))
        cursor = page.next_cursor
        if cursor is None:
            return found
