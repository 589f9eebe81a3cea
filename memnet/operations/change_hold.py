"""Place or lift a legal hold; whatever was before stays on record."""

from memnet.domain import hold as hold_records
from memnet.domain.document import Actor
from memnet.domain.errors import Unavailable
from memnet.domain.hold import HoldAction, HoldChange, HoldPlace
from memnet.domain.timestamps import to_text
from memnet.operations.read_hold import read_hold
from memnet.ports import Clock, HoldStore, StoreConflict

ATTEMPTS = 8


async def change_hold(
    place: HoldPlace, action: HoldAction, reason: str, *, actor: Actor, holds: HoldStore, clock: Clock
) -> None:
    """Record the change create-only, and with that bring it into force.

    Nothing is recorded if the place is held for that very reason already, or is to be released and is not held: so
    the call may be repeated. Raises HistoryBroken, Unavailable.
    """
    for _ in range(ATTEMPTS):
        newest = await read_hold(place, holds=holds)
        if _is_so(newest, action, reason):
            return
        key, previous = hold_records.following(newest, place)
        change = HoldChange(key, action, reason, actor.principal, to_text(clock.now()), previous)
        try:
            await holds.create(key, hold_records.dump(change))
        except StoreConflict:
            # Somebody else's change, or this one, applied unseen.
            continue
        return
    raise Unavailable(dependency="blob_storage")


def _is_so(newest: HoldChange | None, action: HoldAction, reason: str) -> bool:
    if action is HoldAction.RELEASED:
        return newest is None or not newest.holds
    return newest is not None and newest.holds and newest.reason == reason
