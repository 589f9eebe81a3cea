"""Lift the legal hold on a tenant."""

from memnet.domain.document import Actor
from memnet.domain.hold import HoldAction, HoldPlace
from memnet.operations.change_hold import change_hold
from memnet.operations.tell_hold import HoldStatus, tell_hold
from memnet.ports import Clock
from memnet.stores import ErasureStore, HoldStore


async def release_tenant_hold(
    tenant_id: str, reason: str, *, actor: Actor, holds: HoldStore, erasures: ErasureStore, clock: Clock
) -> HoldStatus:
    """Holds on single users stay. Return what holds then; without a hold it changes nothing.

    Who did so, when and why is recorded create-only. Raises InvalidIdentifier, HistoryBroken, Unavailable.
    """
    place = HoldPlace(tenant_id)
    await change_hold(place, HoldAction.RELEASED, reason, actor=actor, holds=holds, erasures=erasures, clock=clock)
    return await tell_hold(place, holds=holds)
