"""Find the codes of claimants: a read of each one's key record, and no write."""

import asyncio
from collections.abc import Iterable, Mapping

from memnet.domain.core.errors import ClaimantNotFound
from memnet.domain.core.scope import UserScope
from memnet.domain.sealing.claimant import Claimant, claimant_code
from memnet.stores import KeyRing, Vault


async def find_codes(workspace: UserScope, claimants: Iterable[Claimant | None], vault: Vault) -> Mapping[str, str]:
    """Return the codes of the claimants in the workspace, by user_id; None names no one.

    The key record of each is read again at each call: a user who was erased is not found any more.

    Raises:
        ClaimantNotFound: A claimant has no data key, so no memory. Nothing is created for them.
        InvalidIdentifier, DecryptionFailed, VaultUnavailable, Unavailable.
    """
    scopes = {one.user_id: UserScope(workspace.tenant_id, one.user_id) for one in claimants if one is not None}
    keys = await asyncio.gather(*(KeyRing(vault).first(scope) for scope in scopes.values()))
    found: dict[str, str] = {}
    for user_id, key in zip(scopes, keys, strict=True):
        if key is None:
            raise ClaimantNotFound()
        found[user_id] = claimant_code(key, workspace)
    return found
