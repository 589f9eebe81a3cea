"""Tell all there is to know about the legal hold on a place."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memnet.domain.hold import HoldChange, HoldPlace
from memnet.operations.list_hold_changes import list_hold_changes
from memnet.operations.read_hold import read_hold
from memnet.stores import HoldStore


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
    changes = await list_hold_changes(place, holds=holds)
    covering = [change for change in changes[-1:] if change.holds]
    if place.user_id is not None:
        above = await read_hold(HoldPlace(place.tenant_id), holds=holds)
        covering += [above] if above is not None and above.holds else []
    return HoldStatus(covering, changes)
