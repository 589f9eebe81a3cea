"""Which histories have no document: deleted and emptied ones do, and one that cannot be read may be any."""

import pytest

from memnet.domain import envelope
from memnet.domain.errors import HistoryBroken
from memnet.operations.find_orphans import find_orphans
from tests.memory_blobs import storage_of
from tests.operations.retention_world import ALPHA, DYNAMIC, SCOPE, RetentionWorld, put


@pytest.fixture
async def world() -> RetentionWorld:
    made = RetentionWorld()
    await made.create_project()
    await made.change(DYNAMIC, put("/preferences", ["short answers"]))
    return made


async def doc_id_of(world: RetentionWorld, key) -> str:
    return envelope.load((await world.documents.get(key)).data).doc_id


async def test_those_that_no_document_has(world):
    ids = [await doc_id_of(world, key) for key in (ALPHA, DYNAMIC)]
    assert await find_orphans(SCOPE, [*ids, "gone-1"], documents=world.documents) == {"gone-1"}
    storage_of(world.documents).drop(ALPHA.blob_name)
    assert await find_orphans(SCOPE, [*ids, "gone-1"], documents=world.documents) == {ids[0], "gone-1"}


async def test_an_emptied_document_has_its_records_still(world):
    stored = await world.documents.get(ALPHA)
    empty = envelope.tombstone(envelope.load(stored.data))
    await world.documents.put(ALPHA, envelope.dump(empty), envelope.summarise(empty), replaces=stored.storage_etag)
    assert await find_orphans(SCOPE, [empty.doc_id], documents=world.documents) == set()


async def test_beside_a_document_that_cannot_be_read_nothing_is_known(world):
    stored = await world.documents.get(ALPHA)
    summary = envelope.summarise(envelope.load(stored.data))
    await world.documents.put(ALPHA, b"{}", summary, replaces=stored.storage_etag)
    with pytest.raises(HistoryBroken):
        await find_orphans(SCOPE, ["gone-1"], documents=world.documents)
    assert await find_orphans(SCOPE, [], documents=world.documents) == set()
