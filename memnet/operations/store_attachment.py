"""Keep what came with an archive of another user."""

from memnet.domain.archive_import import Fate, is_private
from memnet.domain.errors import Unavailable
from memnet.domain.record import RecordKey
from memnet.operations.open_attachment import open_attachment
from memnet.operations.seal_record import seal_record
from memnet.operations.store_record import store_record
from memnet.ports import StoreConflict
from memnet.stores import RecordStore, Vault


async def store_attachment(key: RecordKey, data: bytes, *, records: RecordStore, vault: Vault | None) -> Fate:
    """Create it, sealed if it is an old record or a baseline and there is a vault; THERE if it stands there already.

    KEPT if something else does. Raises SealBroken, VaultUnavailable, Unavailable.
    """
    if vault is None or not is_private(key):
        return await store_record(key, data, records=records)
    fate = await _compare(key, data, records, vault)
    if fate is not None:
        return fate
    try:
        await records.write(key, await seal_record(key, data, vault=vault), replaces=None)
    except StoreConflict:
        fate = await _compare(key, data, records, vault)
        if fate is None:
            raise Unavailable(dependency="blob_storage") from None
        return fate
    return Fate.CREATED


async def _compare(key: RecordKey, data: bytes, records: RecordStore, vault: Vault) -> Fate | None:
    stored = await records.read(key)
    if stored is None:
        return None
    return Fate.THERE if await open_attachment(key, stored.data, vault=vault) == data else Fate.KEPT
