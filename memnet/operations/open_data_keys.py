"""Open some of a user's data keys at once."""

from collections.abc import Collection, Mapping

from memnet.domain.document import UserScope
from memnet.domain.errors import SealBroken
from memnet.domain.sealing import DataKey
from memnet.operations.read_data_keys import read_data_keys
from memnet.operations.unwrap_data_key import unwrap_data_key
from memnet.stores import Vault


async def open_data_keys(scope: UserScope, key_ids: Collection[str], *, vault: Vault) -> Mapping[str, DataKey]:
    """Return by id those that there are and that open; what is remembered is not read again.

    Raises VaultUnavailable, Unavailable.
    """
    known = {key_id: vault.cache.find(scope, key_id) for key_id in key_ids} if vault.cache else {}
    found = {key_id: key for key_id, key in known.items() if key is not None}
    missing = sorted(set(key_ids) - found.keys())
    if not missing:
        return found
    try:
        stored = await read_data_keys(scope, records=vault.records)
    except SealBroken:
        return found
    for wrapped in filter(None, map(stored[0].find, missing) if stored else ()):
        try:
            key = await unwrap_data_key(scope, wrapped, keys=vault.keys)
        except SealBroken:
            continue
        found[key.key_id] = key
        if vault.cache is not None:
            vault.cache.remember(scope, key, is_current=False)
    return found
