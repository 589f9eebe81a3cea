"""Retractions whose sources overlap, and retractions that are applied again: none loses what another one took."""

from contextlib import suppress
from dataclasses import replace

import pytest

from memnet.domain.core.job import Job, JobKind
from memnet.domain.governance import retraction as retractions
from memnet.domain.governance.retraction import RetractionStatus
from memnet.domain.governance.source import Source, SourceKind
from memnet.domain.replay.snapshot import snapshot_key
from memnet.operations.governance.retractions import apply_retraction, plan_retraction, undo_retraction
from memnet.operations.governance.run_retraction import fail_retraction
from memnet.operations.replay.resume_retraction import resume_retraction
from memnet.operations.replay.taking import unseal_snapshot
from tests.operations.governance.test_retracted_origins import replaced
from tests.operations.governance.test_withdrawn_events import BAD, GOOD, PLAIN, entries_of, moved
from tests.operations.retraction_scenario import ADMIN, OTHER, Retracting, texts
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import Between, Killed, WithdrawnWorld, drain, killed

C1 = snapshot_key(ONE, "c1", "s1")
ALL = ["m1", "m2", "m3"]


async def begun(world: WithdrawnWorld, conversation_id: str, *message_ids: str) -> str:
    """Plan a retraction of a conversation, or of these messages, and begin it."""
    source = Source(
        kind=SourceKind.CONVERSATION, conversation_id=conversation_id, message_ids=tuple(message_ids) or None
    )
    key = "-".join([conversation_id, *message_ids])
    planned = await plan_retraction(ONE, source, "Wrong.", world.service, actor=ADMIN, idempotency_key=key)
    found = planned.retraction
    await apply_retraction(ONE, found.retraction_id, found.etag, world.service, actor=ADMIN)
    return found.retraction_id


async def message_ids(world: WithdrawnWorld) -> list[str]:
    snapshot = await unseal_snapshot(C1, world.service.vault)
    return [] if snapshot is None else [one.message_id for one in snapshot.messages]


@pytest.fixture
async def spoken() -> WithdrawnWorld:
    world = WithdrawnWorld()
    await world.say("c1", "s1", "I like blue.", "I like green.", "I like red.")
    await world.run_jobs()
    return world


@pytest.mark.parametrize("second", [("m2",), ("m2", "m3"), ()])
@pytest.mark.parametrize("in_reverse", [False, True])
async def test_messages_come_back_in_whichever_order_two_retractions_are_undone(
    spoken: WithdrawnWorld, second: tuple[str, ...], *, in_reverse: bool
) -> None:
    before = spoken.stored("snapshots")
    first_id = await begun(spoken, "c1", "m1")
    await spoken.run_jobs()
    assert await message_ids(spoken) == ["m2", "m3"]
    second_id = await begun(spoken, "c1", *second)
    await spoken.run_jobs()
    left = [one for one in ("m3",) if second == ("m2",)]
    assert await message_ids(spoken) == left
    for retraction_id in (second_id, first_id) if in_reverse else (first_id, second_id):
        await undo_retraction(ONE, retraction_id, spoken.service, actor=ADMIN)
        await spoken.run_jobs()
    assert await message_ids(spoken) == ALL
    assert spoken.stored("snapshots") == before


@pytest.mark.parametrize("in_reverse", [False, True])
async def test_an_event_comes_back_once_in_whichever_order_two_retractions_are_undone(*, in_reverse: bool) -> None:
    """Of the entries that upkeep has moved to it, one rests on c1 and one on c2."""
    world = WithdrawnWorld()
    await moved(world, BAD, GOOD, PLAIN)
    before = world.stored("events")
    begun_ids = []
    for conversation_id in ("c1", "c2"):
        begun_ids.append(await begun(world, conversation_id))
        await world.run_jobs()
    assert [entries_of(data) for data in world.stored("events").values()] == [[PLAIN]]
    first_id, second_id = reversed(begun_ids) if in_reverse else begun_ids
    await undo_retraction(ONE, first_id, world.service, actor=ADMIN)
    await world.run_jobs()
    left = [[GOOD, PLAIN]] if in_reverse else [[BAD, PLAIN]]
    assert [entries_of(data) for data in world.stored("events").values()] == left
    await undo_retraction(ONE, second_id, world.service, actor=ADMIN)
    await world.run_jobs()
    assert world.stored("events") == before


async def test_a_retraction_that_takes_the_last_messages_of_a_snapshot_keeps_them(spoken: WithdrawnWorld) -> None:
    """When it was planned, the snapshot had another message."""
    first_id, second_id = await begun(spoken, "c1", "m1"), await begun(spoken, "c1", "m2", "m3")
    await spoken.run_jobs()
    assert spoken.stored("snapshots") == {}
    for retraction_id, expected in ((second_id, ["m2", "m3"]), (first_id, ALL)):
        await undo_retraction(ONE, retraction_id, spoken.service, actor=ADMIN)
        await spoken.run_jobs()
        assert await message_ids(spoken) == expected


async def test_an_undo_leaves_messages_that_the_undo_of_another_retraction_has_brought_back() -> None:
    """The second retraction fails after it has taken its message; the undo of the first one brings back all."""
    number, found = 0, ["m2"]
    while "m2" in found:
        number += 1
        world = WithdrawnWorld()
        await world.say("c1", "s1", "I like blue.", "I like green.", "I like red.")
        await world.run_jobs()
        first_id = await begun(world, "c1", "m1")
        await world.run_jobs()
        second_id = await begun(world, "c1", "m2")
        between = Between(world, number, killed)
        with suppress(Killed):
            await world.run_jobs()
        between.stop()
        found = await message_ids(world)
    await fail_retraction(job_of(second_id), "UNAVAILABLE", world.service)
    for retraction_id in (first_id, second_id):
        await undo_retraction(ONE, retraction_id, world.service, actor=ADMIN)
        await world.run_jobs()
        assert await message_ids(world) == ALL


def job_of(retraction_id: str) -> Job:
    return Job(JobKind.RETRACTION, ONE.tenant_id, ONE.user_id, retraction_id)


async def stated_twice() -> Retracting:
    """A preference that a and b have stated; it names no source of its own."""
    world = Retracting()
    await world.live("Answer briefly", conversation_id="a")
    await replaced(world, 0, "Answer briefly", "b")
    await drain(world.service)
    return world


async def test_a_request_of_a_stopped_worker_is_not_sent_if_another_source_was_opened_meanwhile() -> None:
    """While b is closed the preference rests on a alone; since the undo of b it rests on b, too."""
    number, stayed = 0, 0
    while True:
        number += 1
        world = await stated_twice()
        closed_id = await begun(world, "b")
        await world.run(closed_id)
        retraction_id = await begun(world, "a")
        between = Between(world, number, killed)
        with suppress(Killed):
            await world.run(retraction_id)
        between.stop()
        if len(between.calls) < number:
            break
        was_removed = texts(await world.content()) == []
        await undo_retraction(ONE, closed_id, world.service, actor=ADMIN)
        await world.run(closed_id)
        assert (await world.run(retraction_id)).status is RetractionStatus.APPLIED, between.calls[-1]
        assert texts(await world.content()) == ([] if was_removed else ["Answer briefly"]), between.calls[-1]
        stayed += not was_removed
    assert 10 < stayed < number - 1


async def again(world: Retracting, retraction_id: str) -> None:
    """Something of the source has been written since: the retraction is applied again."""
    await world.live("Mallory again", conversation_id="c1")
    await resume_retraction(ONE, retraction_id, world.service)
    assert (await world.run(retraction_id)).status is RetractionStatus.APPLIED
    assert "Mallory again" not in texts(await world.content())


async def test_a_document_is_changed_again_after_its_row_of_the_plan_is_gone() -> None:
    world = await Retracting().prepared()
    view = await world.planned()
    retraction_id, etag = view.retraction.retraction_id, view.retraction.etag
    await apply_retraction(ONE, retraction_id, etag, world.service, actor=OTHER)
    without = replace(world.service, catalog=replace(world.catalog, profiles={}))
    assert (await world.run(retraction_id, without)).status is RetractionStatus.PARTIAL
    for _ in range(3):
        await again(world, retraction_id)


async def test_a_document_is_changed_again_after_the_plan_has_expired() -> None:
    world = await Retracting().prepared()
    retraction = await world.applied()
    stored = await world.service.records.read(retraction.key)
    assert stored is not None
    # As retention leaves it.
    expired = retractions.dump(replace(retraction, sealed=None))
    await world.service.records.write(retraction.key, expired, replaces=stored.storage_etag)
    await again(world, retraction.retraction_id)
