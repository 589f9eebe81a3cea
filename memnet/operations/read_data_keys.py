"""Read a user's wrapped data keys."""

from memnet.domain import data_keys
from memnet.domain.data_keys import DataKeys, data_keys_key
from memnet.domain.document import StorageETag, UserScope
from memnet.stores import RecordStore


async def read_data_keys(scope: UserScope, *, records: RecordStore) -> tuple[DataKeys, StorageETag] | None:
    """Return them and the tag that guards their next write; None if there are none yet. Raises SealBroken, Unavailable.

    Nothing is unwrapped, so no vault is asked.
    """
    stored = await records.read(data_keys_key(scope))
    return None if stored is None else (data_keys.load(stored.data), stored.storage_etag)
