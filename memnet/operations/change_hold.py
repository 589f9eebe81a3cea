"""Place or lift a legal hold; whatever was before stays on record."""

from memnet.domain import hold as hold_records
from memnet.domain.document import Actor
from memnet.domain.errors import TenantEnded, Unavailable
from memnet.domain.hold import HoldAction, HoldChange, HoldPlace
from memnet.domain.tenant_erasure import TenantStatus, load
from memnet.domain.timestamps import to_text
from memnet.operations.read_hold import read_hold
from memnet.ports import Clock, StoreConflict
from memnet.stores import ErasureStore, HoldStore

ATTEMPTS = 8


async def change_hold(
    place: HoldPlace,
    action: HoldAction,
    reason: str,
    *,
    actor: Actor,
    holds: HoldStore,
    erasures: ErasureStore,
    clock: Clock,
) -> None:
    """Record the change create-only, and with that bring it into force.

    Nothing is recorded if the place is held for that very reason already, or is to be released and is not held: so
    the call may be repeated. Raises TenantEnded if a hold is to be placed and the tenant's erasure is complete,
    HistoryBroken, Unavailable.
    """
    for _ in range(ATTEMPTS):
        newest = await read_hold(place, holds=holds)
        if _is_so(newest, action, reason):
            return
        if action is HoldAction.PLACED and await _is_erased(place.tenant_id, erasures):
            raise TenantEnded()
        key, previous = hold_records.following(newest, place)
        change = HoldChange(key, action, reason, actor.principal, to_text(clock.now()), previous)
        try:
            await holds.create(key, hold_records.dump(change))
        except StoreConflict:
            # Somebody else's change, or this one, applied unseen.
            continue
        return
    raise Unavailable(dependency="blob_storage")


async def _is_erased(tenant_id: str, erasures: ErasureStore) -> bool:
    """Whether the receipt of the tenant's erasure is complete. Raises HistoryBroken, Unavailable."""
    stored = await erasures.read_end(tenant_id)
    return stored is not None and load(tenant_id, stored.data).status is TenantStatus.COMPLETE


def _is_so(newest: HoldChange | None, action: HoldAction, reason: str) -> bool:
    if action is HoldAction.RELEASED:
        return newest is None or not newest.holds
    return newest is not None and newest.holds and newest.reason == reason
