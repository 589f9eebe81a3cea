"""Create a record that nothing may ever change."""

from memnet.domain.archive_import import Fate
from memnet.domain.errors import Unavailable
from memnet.domain.record import RecordKey
from memnet.ports import StoreConflict
from memnet.stores import RecordStore


async def store_record(key: RecordKey, data: bytes, *, records: RecordStore) -> Fate:
    """Create it; THERE if the same bytes stand there, KEPT if others do. Raises Unavailable."""
    try:
        await records.write(key, data, replaces=None)
    except StoreConflict:
        stored = await records.read(key)
        if stored is None:
            raise Unavailable(dependency="blob_storage") from None
        return Fate.THERE if stored.data == data else Fate.KEPT
    return Fate.CREATED
