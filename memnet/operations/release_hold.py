"""Lift the legal hold on a user."""

from memnet.domain.document import Actor, UserScope
from memnet.domain.hold import HoldAction, HoldPlace
from memnet.operations.change_hold import change_hold
from memnet.operations.tell_hold import HoldStatus, tell_hold
from memnet.ports import Clock
from memnet.stores import ErasureStore, HoldStore


async def release_hold(
    scope: UserScope, reason: str, *, actor: Actor, holds: HoldStore, erasures: ErasureStore, clock: Clock
) -> HoldStatus:
    """Return what holds then: a hold on the tenant stays. Without a hold it changes nothing.

    Who did so, when and why is recorded create-only. Raises HistoryBroken, Unavailable.
    """
    place = HoldPlace(scope.tenant_id, scope.user_id)
    await change_hold(place, HoldAction.RELEASED, reason, actor=actor, holds=holds, erasures=erasures, clock=clock)
    return await tell_hold(place, holds=holds)
