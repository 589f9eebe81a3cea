"""Get the data key to seal a user's records with, the first one included."""

from memnet.domain.document import UserScope
from memnet.domain.errors import Unavailable
from memnet.domain.sealing import DataKey
from memnet.operations.add_data_key import add_data_key
from memnet.operations.read_current_key import read_current_key
from memnet.ports import StoreConflict
from memnet.stores import Vault

ATTEMPTS = 4
"""A lost race is settled at the second look: the winner's key is there."""


async def take_current_key(scope: UserScope, *, vault: Vault) -> DataKey:
    """Return the key that this process remembers, else the one that is stored, else a new one once it is stored.

    A key that lost the race to be the first must seal nothing. Raises SealBroken if the user's keys do not open,
    VaultUnavailable, Unavailable.
    """
    known = None if vault.cache is None else vault.cache.current(scope)
    if known is not None:
        return known
    for _ in range(ATTEMPTS):
        found = await read_current_key(scope, vault=vault)
        if found is not None:
            return found
        try:
            return await add_data_key(scope, None, None, vault=vault)
        except StoreConflict:
            continue
    raise Unavailable(dependency="blob_storage")
