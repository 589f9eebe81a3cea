"""Tell whether a user is under a legal hold."""

from memnet.domain.document import UserScope
from memnet.domain.hold import HoldPlace
from memnet.operations.tell_hold import HoldStatus, tell_hold
from memnet.stores import HoldStore


async def get_hold(scope: UserScope, *, holds: HoldStore) -> HoldStatus:
    """Return what covers the user, a hold on the tenant included, and what happened to its own hold.

    Raises HistoryBroken, Unavailable.
    """
    return await tell_hold(HoldPlace(scope.tenant_id, scope.user_id), holds=holds)
