"""Old records give way to a baseline."""

from memnet.domain.core.scope import DocumentKey
from memnet.domain.documents import envelope
from memnet.domain.documents.audit_record import Fold
from memnet.domain.history.baseline import baseline_of
from memnet.stores import read_records, store_baseline
from tests.operations.replay_scenario import World


async def retain(world: World, key: DocumentKey, sequence: int) -> None:
    """Put a baseline in place of the records up to that change; the document's newest stays."""
    stored = await world.documents.get(key)
    assert stored is not None
    head = envelope.load(stored.data)
    chain = Fold(head.doc_id)
    for record in await read_records(key.scope, head, 1, sequence, audit=world.audit):
        version = chain.take(record)
    made = baseline_of(key, record, version, record["profile_id"])
    await store_baseline(made, audit=world.audit)
    for number in range(1, min(sequence, head.commit.sequence - 1) + 1):
        await world.audit.delete(key.scope, head.change_id(number))
