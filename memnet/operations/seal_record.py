"""Encrypt a record of a user, for its own place alone."""

from memnet.domain import sealing
from memnet.domain.record import RecordKey
from memnet.domain.sealing import NONCE_BYTES
from memnet.operations.take_current_key import take_current_key
from memnet.stores import Vault


async def seal_record(key: RecordKey, plaintext: bytes, *, vault: Vault) -> bytes:
    """Return the sealed bytes, which open as the record `key` and nowhere else; nothing is stored but a first data key.

    Raises SealBroken if the user's keys do not open, VaultUnavailable, Unavailable.
    """
    data_key = await take_current_key(key.scope, vault=vault)
    return sealing.seal(plaintext, key, data_key=data_key, nonce=vault.ids.secret(NONCE_BYTES))
