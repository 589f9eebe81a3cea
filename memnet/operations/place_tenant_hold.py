"""Place a legal hold on a tenant."""

from memnet.domain.document import Actor
from memnet.domain.hold import HoldAction, HoldPlace
from memnet.operations.change_hold import change_hold
from memnet.operations.tell_hold import HoldStatus, tell_hold
from memnet.ports import Clock
from memnet.stores import ErasureStore, HoldStore


async def place_tenant_hold(
    tenant_id: str, reason: str, *, actor: Actor, holds: HoldStore, erasures: ErasureStore, clock: Clock
) -> HoldStatus:
    """Nothing of any of its users is removed from then on; return what holds then.

    Who did so, when and why is recorded create-only. Raises TenantEnded, InvalidIdentifier, HistoryBroken, Unavailable.
    """
    place = HoldPlace(tenant_id)
    await change_hold(place, HoldAction.PLACED, reason, actor=actor, holds=holds, erasures=erasures, clock=clock)
    return await tell_hold(place, holds=holds)
