"""The register of closed sources: who is refused, and what it costs."""

import pytest

from memnet.domain.core.errors import SourceRetracted
from memnet.domain.governance.source import Source, SourceKind
from memnet.domain.governance.withdrawn import Withdrawal, register_key
from memnet.operations.replay.closed_sources import close_source, open_source, read_closed
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import WITHDRAWAL, WithdrawnWorld

LATER = "2999-01-01T00:00:00.000000Z"


async def test_it_is_written_once_and_only_for_changes() -> None:
    world = WithdrawnWorld()
    await close_source(ONE, WITHDRAWAL, world.service)
    stored = await world.service.records.read(register_key(ONE))
    await close_source(ONE, WITHDRAWAL, world.service)
    await open_source(ONE, "rtr-9", world.service)
    assert await world.service.records.read(register_key(ONE)) == stored
    other = Withdrawal("rtr-2", Source(kind=SourceKind.EVENT, event_id="e1"))
    await close_source(ONE, other, world.service)
    assert list(await read_closed(ONE, world.service.records)) == [WITHDRAWAL, other]
    await open_source(ONE, "rtr-1", world.service)
    assert list(await read_closed(ONE, world.service.records)) == [other]


@pytest.mark.parametrize(
    ("source", "refused"),
    [
        (Source(kind=SourceKind.CONVERSATION, conversation_id="c1"), True),
        (Source(kind=SourceKind.CONVERSATION, conversation_id="c2"), False),
        (Source(kind=SourceKind.CONVERSATION, conversation_id="c1", message_ids=("m1", "m9")), True),
        (Source(kind=SourceKind.CONVERSATION, conversation_id="c1", message_ids=("m9",)), False),
        (Source(kind=SourceKind.SNAPSHOT, conversation_id="c1", snapshot_id="s1"), True),
        (Source(kind=SourceKind.SNAPSHOT, conversation_id="c1", snapshot_id="s2"), False),
        (Source(kind=SourceKind.ACTOR, actor="svc-live"), True),
        (Source(kind=SourceKind.ACTOR, actor="svc-live", since=LATER), False),
        (Source(kind=SourceKind.ACTOR, actor="svc-other"), False),
        (Source(kind=SourceKind.MODEL, model="scripted"), False),
        (Source(kind=SourceKind.REPLAY, replay_id="rpl-1"), False),
    ],
)
async def test_what_a_closed_source_names_is_refused_and_nothing_is_stored(source: Source, refused: bool) -> None:
    world = WithdrawnWorld()
    await close_source(ONE, Withdrawal("rtr-1", source), world.service)
    if not refused:
        await world.say("c1")
        return
    with pytest.raises(SourceRetracted) as error:
        await world.say("c1")
    assert error.value.details == {"retraction_id": "rtr-1"}
    assert world.stored("snapshots", "replays") == {}
    assert await world.marked_jobs() == []
    assert await world.marks() == []
