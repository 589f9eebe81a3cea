"""Find the codes of claimants: a read of each one's key record, and no write."""

from collections.abc import Mapping

from memnet.domain.core.claimant import Claimant, claimant_code
from memnet.domain.core.errors import ClaimantNotFound
from memnet.domain.core.scope import UserScope
from memnet.paging import bounded
from memnet.stores import KeyRing, Vault


async def find_codes(workspace: UserScope, claimants: Mapping[str, Claimant], vault: Vault) -> Mapping[str, str]:
    """Return the codes of the claimants in the workspace, by user_id. They are given by their pointers in the body.

    The key record of each is read again at each call: a user who was erased is not found any more.

    Raises:
        ClaimantNotFound: A claimant has no data key, so no memory. Nothing is created for them.
        InvalidIdentifier, DecryptionFailed, VaultUnavailable, Unavailable.
    """
    places: dict[str, str] = {}
    for place, claimant in claimants.items():
        places.setdefault(claimant.user_id, place)
    keys = await bounded(KeyRing(vault).first, [UserScope(workspace.tenant_id, user_id) for user_id in places])
    found: dict[str, str] = {}
    for (user_id, place), key in zip(places.items(), keys, strict=True):
        if key is None:
            raise ClaimantNotFound(param=f"{place}/user_id")
        found[user_id] = claimant_code(key.secret, workspace)
    return found
