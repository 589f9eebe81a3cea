"""Decrypt a sealed record of a user."""

from memnet.domain import sealing
from memnet.domain.errors import SealBroken
from memnet.domain.record import RecordKey
from memnet.operations.read_data_keys import read_data_keys
from memnet.operations.unwrap_data_key import unwrap_data_key
from memnet.stores import Vault


async def open_record(key: RecordKey, data: bytes, *, vault: Vault) -> bytes:
    """Return the plaintext of what `seal_record` made for the record `key`, with whichever of the user's data keys.

    Raises SealBroken for any other bytes, VaultUnavailable, Unavailable.
    """
    key_id = sealing.sealing_key_id(data)
    found = await read_data_keys(key.scope, records=vault.records)
    wrapped = found and found[0].find(key_id)
    if not wrapped:
        raise SealBroken()
    data_key = await unwrap_data_key(key.scope, wrapped, keys=vault.keys)
    return sealing.unseal(data, key, data_key=data_key)
