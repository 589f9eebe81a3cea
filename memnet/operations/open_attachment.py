"""Read back what came with an archive of another user."""

from memnet.domain.archive_import import is_private
from memnet.domain.errors import VaultUnavailable
from memnet.domain.record import RecordKey
from memnet.domain.sealing import is_sealed
from memnet.operations.open_record import open_record
from memnet.stores import Vault


async def open_attachment(key: RecordKey, data: bytes, *, vault: Vault | None) -> bytes:
    """Return what `store_attachment` was given, of the bytes that are stored; any other record as it is.

    Raises SealBroken, VaultUnavailable if it is sealed and there is no vault, Unavailable.
    """
    if not (is_private(key) and is_sealed(data)):
        return data
    if vault is None:
        raise VaultUnavailable()
    return await open_record(key, data, vault=vault)
