"""Encrypt a record of a user, for its own place alone."""

from memnet.domain import sealing
from memnet.domain.document import UserScope
from memnet.domain.errors import Unavailable
from memnet.domain.record import RecordKey
from memnet.domain.sealing import NONCE_BYTES, DataKey
from memnet.operations.add_data_key import add_data_key
from memnet.operations.read_data_keys import read_data_keys
from memnet.operations.unwrap_data_key import unwrap_data_key
from memnet.ports import StoreConflict, Vault

ATTEMPTS = 4
"""A lost race is settled at the second look: the winner's key is there."""


async def seal_record(key: RecordKey, plaintext: bytes, *, vault: Vault) -> bytes:
    """Return the sealed bytes, which open as the record `key` and nowhere else; nothing is stored but a first data key.

    Raises SealBroken if the user's keys do not open, VaultUnavailable, Unavailable.
    """
    data_key = await _current(key.scope, vault)
    return sealing.seal(plaintext, key, data_key=data_key, nonce=vault.ids.secret(NONCE_BYTES))


async def _current(scope: UserScope, vault: Vault) -> DataKey:
    """The key to seal with, as it is stored: a key that lost the race to be the first must seal nothing."""
    for _ in range(ATTEMPTS):
        found = await read_data_keys(scope, records=vault.records)
        if found is not None:
            return await unwrap_data_key(scope, found[0].current, keys=vault.keys)
        try:
            return await add_data_key(scope, None, None, vault=vault)
        except StoreConflict:
            continue
    raise Unavailable(dependency="blob_storage")
