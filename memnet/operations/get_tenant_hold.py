"""Tell whether a whole tenant is under a legal hold."""

from memnet.domain.hold import HoldPlace
from memnet.operations.tell_hold import HoldStatus, tell_hold
from memnet.stores import HoldStore


async def get_tenant_hold(tenant_id: str, *, holds: HoldStore) -> HoldStatus:
    """Return whether the tenant is held, and what happened to its hold; not the holds on its single users.

    Raises InvalidIdentifier, HistoryBroken, Unavailable.
    """
    return await tell_hold(HoldPlace(tenant_id), holds=holds)
