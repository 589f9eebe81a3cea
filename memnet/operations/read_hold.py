"""Read what last happened to the legal hold on a place."""

from memnet.domain.hold import HoldChange, HoldPlace
from memnet.operations.list_hold_changes import list_hold_changes
from memnet.stores import HoldStore


async def read_hold(place: HoldPlace, *, holds: HoldStore) -> HoldChange | None:
    """Return the newest change, which says whether the place is held; None if there never was a hold.

    Raises HistoryBroken if the changes do not hold together as a whole, Unavailable: from neither may anyone conclude
    that there is no hold.
    """
    changes = await list_hold_changes(place, holds=holds)
    return changes[-1] if changes else None
