"""Single messages of a snapshot that are taken back: the snapshot keeps the others."""

from memnet.domain.governance.source import Source, SourceKind
from memnet.domain.governance.withdrawn import Fate, Withdrawal, WithdrawnKind
from memnet.domain.replay.snapshot import snapshot_key
from memnet.operations.replay.taking import unseal_snapshot
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import WithdrawnWorld

ONE_MESSAGE = Withdrawal("rtr-1", Source(kind=SourceKind.CONVERSATION, conversation_id="c1", message_ids=("m1",)))


async def test_the_other_messages_stay_and_are_found() -> None:
    world = WithdrawnWorld()
    await world.fill()
    before, planned = world.kept(), await world.plan(ONE_MESSAGE.source)
    assert [item.fate for item in planned if item.kind is WithdrawnKind.SNAPSHOT] == [Fate.STRIP]
    await world.take_out(ONE_MESSAGE)
    snapshot = await unseal_snapshot(snapshot_key(ONE, "c1", "s1"), world.service.vault)
    assert snapshot is not None
    assert [one.message_id for one in snapshot.messages] == ["m2"]
    found = {(one.turn.conversation_id, one.turn.message_id) for one in (await world.search(None)).items}
    assert found == {("c1", "m2"), ("c2", "m1"), ("c2", "m2")}
    await world.settle()
    assert len(await world.documents()) == 3
    assert await world.plan(ONE_MESSAGE.source) == []
    assert all(await world.put_back(planned, ONE_MESSAGE))
    assert world.kept() == before
