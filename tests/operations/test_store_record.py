"""A record that is created once."""

import pytest

from memnet.domain.archive_import import Fate
from memnet.domain.document import StorageETag
from memnet.domain.errors import Unavailable
from memnet.domain.record import RecordKey, RecordKind
from memnet.operations.store_record import store_record
from memnet.ports import StoreConflict
from memnet.stores import RecordStore
from tests.memory_blobs import memory_blobs
from tests.operations.replay_world import SCOPE

KEY = RecordKey(SCOPE, RecordKind.IMPORTS, "a/b")


async def test_it_is_created_once_and_never_replaced() -> None:
    records = RecordStore(memory_blobs())
    assert await store_record(KEY, b"1", records=records) is Fate.CREATED
    assert await store_record(KEY, b"1", records=records) is Fate.THERE
    assert await store_record(KEY, b"2", records=records) is Fate.KEPT
    stored = await records.read(KEY)
    assert stored is not None
    assert stored.data == b"1"


class Refusing(RecordStore):
    async def write(self, key: RecordKey, data: bytes, *, replaces: StorageETag | None) -> StorageETag:
        raise StoreConflict


async def test_a_refusal_without_a_record_proves_nothing() -> None:
    with pytest.raises(Unavailable):
        await store_record(KEY, b"1", records=Refusing(memory_blobs()))
