"""Read the data key that a user's records are sealed with now."""

from memnet.domain.document import UserScope
from memnet.domain.sealing import DataKey
from memnet.operations.read_data_keys import read_data_keys
from memnet.operations.unwrap_data_key import unwrap_data_key
from memnet.stores import Vault


async def read_current_key(scope: UserScope, *, vault: Vault) -> DataKey | None:
    """Return it as it is stored, and remember it; None if the user has none yet.

    Raises SealBroken if it does not open, VaultUnavailable, Unavailable.
    """
    found = await read_data_keys(scope, records=vault.records)
    if found is None:
        return None
    key = await unwrap_data_key(scope, found[0].current, keys=vault.keys)
    if vault.cache is not None:
        vault.cache.remember(scope, key, is_current=True)
    return key
