"""Items of a withdrawn source: what is found, taken out and put back, under kills, and beside a worker and searches."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from memnet.domain.core.errors import ConflictNotFound, SourceRetracted
from memnet.domain.core.job import Job, JobKind
from memnet.domain.events.event import Event
from memnet.domain.governance.source import Source, SourceKind
from memnet.domain.governance.withdrawn import Fate, Withdrawal, WithdrawnKind
from memnet.domain.replay.replay import ReplayStatus
from memnet.domain.replay.snapshot import replay_id_of, snapshot_key
from memnet.operations.events.write_event import write_event
from memnet.operations.governance.withdrawn_items import apply_item, find_replays
from memnet.operations.replay.closed_sources import close_source
from memnet.operations.replay.conflicts import attempt_conflict
from memnet.operations.replay.jobs import retry_replay
from tests.operations.storage_calls import StorageCalls
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import (
    POISONED,
    WITHDRAWAL,
    Between,
    Killed,
    WithdrawnWorld,
    killed,
)

ALL = "replay snapshot event conflict"
MARKS_GO = timedelta(hours=1, seconds=1)
OTHER_WORDS = "prefer concise answers"


async def filled() -> WithdrawnWorld:
    world = WithdrawnWorld()
    await world.fill()
    return world


async def test_the_plan_names_what_rests_on_the_conversation_and_nothing_else() -> None:
    world = await filled()
    before = world.kept()
    planned = await world.plan()
    assert [(item.kind, item.fate) for item in planned] == [
        (WithdrawnKind.REPLAY, Fate.CLOSE),
        (WithdrawnKind.CONFLICT, Fate.REMOVE),
        (WithdrawnKind.SNAPSHOT, Fate.REMOVE),
        (WithdrawnKind.EVENT, Fate.REMOVE),
    ]
    assert await find_replays(ONE, POISONED, world.service) == [planned[0].name]
    assert world.kept() == before


async def test_what_rests_on_it_is_gone_and_the_other_conversation_is_unchanged() -> None:
    world = await filled()
    other = {name: data for name, data in world.kept().items() if "/c2/" in name}
    others = [await world.event_of("c2"), await world.replay_of("c2")]
    await world.take_out()
    assert {name: data for name, data in world.kept().items() if "/c2/" in name} == other
    assert [await world.event_of("c2"), await world.replay_of("c2")] == others
    assert await world.event_of("c1") is None
    assert not [name for name in world.kept() if "/c1/" in name or "cfl-" in name]
    replay = await world.replay_of("c1")
    assert (replay.status, replay.sealed, replay.retracted_by) == (ReplayStatus.RETRACTED, None, "rtr-1")
    assert await world.plan() == []
    found = {turn.conversation_id for turn in [one.turn for one in (await world.search(OTHER_WORDS)).items]}
    assert found == {"c2"}
    assert {document["conversation_id"] for document in (await world.documents()).values()} == {"c2"}


async def test_searches_find_none_of_it_while_the_index_still_shows_it() -> None:
    world = await filled()
    shown = dict(await world.documents())
    assert len(shown) == 4

    async def shows_on(name: str, keys: Sequence[str]) -> frozenset[str]:
        return frozenset()

    world.index.delete = shows_on  # type: ignore[method-assign]
    await world.take_out()
    assert len(await world.documents()) == 4, "the index lags"
    for text in (OTHER_WORDS, None):
        found = (await world.search(text, service=world.process())).items
        assert {one.turn.conversation_id for one in found} == {"c2"}


@pytest.mark.parametrize("is_late", [False, True])
async def test_the_index_is_corrected_later_if_it_was_down(is_late: bool) -> None:
    """A process that read the conversation before can also have indexed it since."""
    world = await filled()
    world.index.down = not is_late
    documents = await world.documents()
    await world.take_out()
    world.index.down = False
    if is_late:
        layout = await world.service.search.register.recent()
        assert layout is not None
        world.index._indexes[layout.serving.name].update(documents)
    assert len(await world.documents()) == 4
    world.clock.advance(MARKS_GO)
    await world.index_all()
    assert {document["conversation_id"] for document in (await world.documents()).values()} == {"c2"}
    assert await world.marks() == []


async def test_undo_puts_the_bytes_back_and_has_the_messages_found_again() -> None:
    world = await filled()
    before, planned = world.kept(), await world.plan()
    await world.take_out()
    assert world.kept() != before
    assert await world.put_back(planned) == [True] * 4
    assert world.kept() == before
    assert sorted(await world.find(OTHER_WORDS)) == ["m1", "m1"]
    await world.settle()
    assert len(await world.documents()) == 4
    assert await world.put_back(planned) == [True] * 4, "again"
    assert world.kept() == before


async def test_a_kill_at_any_step_changes_nothing_in_the_end() -> None:
    undisturbed = await filled()
    await undisturbed.take_out()
    expected = set(undisturbed.kept()), await undisturbed.copies(), len(await undisturbed.documents())
    for number in count(1):
        world = await filled()
        before, planned = world.kept(), await world.plan()
        kill = Between(world, number, killed)
        with suppress(Killed):
            await world.take_out()
        kill.stop()
        for item in planned:
            # The record of a retraction holds its plan.
            await apply_item(ONE, item, WITHDRAWAL, world.service)
        await world.take_out()
        found = set(world.kept()), await world.copies(), len(await world.documents())
        assert found == expected, kill.calls[-1]
        await world.put_back(planned)
        assert world.kept() == before, kill.calls[-1]
        if len(kill.calls) < number:
            break
    assert number > 40


async def test_a_kill_of_an_undo_at_any_step_changes_nothing_in_the_end() -> None:
    for number in count(1):
        world = await filled()
        before, planned = world.kept(), await world.plan()
        await world.take_out()
        kill = Between(world, number, killed)
        with suppress(Killed):
            await world.put_back(planned)
        kill.stop()
        assert await world.put_back(planned) == [True] * 4
        assert world.kept() == before, kill.calls[-1]
        assert sorted(await world.find(OTHER_WORDS)) == ["m1", "m1"]
        if len(kill.calls) < number:
            break
    assert number > 20


async def test_a_replay_of_a_closed_source_is_refused_and_asks_no_model() -> None:
    world = WithdrawnWorld()
    job = await world.say("c1")
    await close_source(ONE, WITHDRAWAL, world.service)
    replay = await world.work(job)
    assert (replay.status, replay.reason) == (ReplayStatus.RETRACTED, "SOURCE_RETRACTED")
    assert world.models.asked == []
    assert world.stored("documents") == {}
    with pytest.raises(SourceRetracted) as refused:
        await retry_replay(ONE, job.job_id, world.service)
    assert refused.value.details == {"retraction_id": "rtr-1"}


async def test_a_model_that_is_withdrawn_while_it_extracts_teaches_nothing() -> None:
    world = WithdrawnWorld()
    job = await world.say("c1")
    source = Source(kind=SourceKind.MODEL, model="scripted")
    first = world.models.answer

    async def answer(request: Any) -> Any:
        await world.take_out(Withdrawal("rtr-2", source))
        return await first(request)

    world.models.answer = answer
    assert (await world.work(job)).status is ReplayStatus.RETRACTED
    assert world.stored("documents") == {}
    assert [name for name in world.kept() if "/snapshots/" in name], "what was said stays"


async def test_an_unfinished_replay_continues_after_an_undo() -> None:
    world = WithdrawnWorld()
    job = await world.say("c1")
    planned = await world.plan()
    await world.take_out()
    await world.work(job)
    assert await world.put_back(planned) == [True, True]
    assert (await world.work(job)).status is ReplayStatus.SUCCEEDED
    assert world.stored("documents") != {}


async def test_a_retry_of_its_conflict_writes_nothing() -> None:
    world = await filled()
    (conflict,) = [name for name in world.kept() if "/conflicts/" in name]
    job = Job(JobKind.CONFLICT, ONE.tenant_id, ONE.user_id, conflict.rpartition("/")[2].removesuffix(".json"))
    before = world.stored("documents")
    await close_source(ONE, WITHDRAWAL, world.service)
    with pytest.raises(ConflictNotFound):
        await attempt_conflict(job, world.service, attempt=1)
    assert world.stored("documents") == before
    assert conflict not in world.kept()


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        (Source(kind=SourceKind.SNAPSHOT, conversation_id="c1", snapshot_id="s1"), ALL),
        (Source(kind=SourceKind.SNAPSHOT, conversation_id="c1", snapshot_id="s2"), ""),
        (
            Source(kind=SourceKind.CONVERSATION, conversation_id="c1", message_ids=("m1",)),
            ALL,
        ),
        (Source(kind=SourceKind.CONVERSATION, conversation_id="c1", message_ids=("m9",)), ""),
        (
            Source(kind=SourceKind.ACTOR, actor="svc-live", since="2026-01-01T00:00:00.000000Z"),
            ALL,
        ),
        (Source(kind=SourceKind.ACTOR, actor="svc-live", until="2026-01-01T00:00:00.000000Z"), ""),
        (Source(kind=SourceKind.ACTOR, actor="svc-other"), ""),
        (Source(kind=SourceKind.MODEL, model="scripted"), "replay event conflict"),
        (Source(kind=SourceKind.MODEL, model="other"), ""),
        (Source(kind=SourceKind.EVENT, event_id="e1"), "event"),
    ],
    ids=lambda value: value.kind.value if isinstance(value, Source) else None,
)
async def test_each_kind_of_source_finds_its_own(source: Source, kinds: str) -> None:
    world = await filled()
    event = {"event_id": "e1", "service_id": "s", "timestamp": "2026-05-01T12:00:00Z", "source_type": "note"}
    await write_event(ONE, Event.model_validate({**event, "digest": "Something else."}), world.service)
    assert {item.kind.value for item in await world.plan(source)} == set(kinds.split())
    await world.take_out(Withdrawal("rtr-3", source))
    assert await world.plan(source) == []


async def test_a_replay_as_source_leaves_what_was_said() -> None:
    world = await filled()
    source = Source(kind=SourceKind.REPLAY, replay_id=replay_id_of(snapshot_key(ONE, "c1", "s1")))
    assert [item.kind for item in await world.plan(source)] == [
        WithdrawnKind.REPLAY,
        WithdrawnKind.CONFLICT,
        WithdrawnKind.EVENT,
    ]


async def test_it_reads_each_replay_conflict_and_event_once() -> None:
    world = await filled()
    calls = StorageCalls(world.service)
    await world.plan()
    # Three listings and the conversation's; its replay, a conflict, two events.
    assert calls.total() == 4 + 4
