"""Place a legal hold on a user."""

from memnet.domain.document import Actor, UserScope
from memnet.domain.hold import HoldAction, HoldPlace
from memnet.operations.change_hold import change_hold
from memnet.operations.tell_hold import HoldStatus, tell_hold
from memnet.ports import Clock
from memnet.stores import ErasureStore, HoldStore


async def place_hold(
    scope: UserScope, reason: str, *, actor: Actor, holds: HoldStore, erasures: ErasureStore, clock: Clock
) -> HoldStatus:
    """Nothing of the user is removed from then on; return what holds then.

    Who did so, when and why is recorded create-only; repeated with the same reason it changes nothing. Raises
    TenantEnded, HistoryBroken, Unavailable.
    """
    place = HoldPlace(scope.tenant_id, scope.user_id)
    await change_hold(place, HoldAction.PLACED, reason, actor=actor, holds=holds, erasures=erasures, clock=clock)
    return await tell_hold(place, holds=holds)
