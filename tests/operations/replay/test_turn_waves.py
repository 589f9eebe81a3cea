"""The storage's round trips before a turn is acknowledged, and every subset of its blobs that a crash can leave."""

import asyncio
from datetime import timedelta
from itertools import combinations

import pytest

from memnet.domain.core.errors import SnapshotExists
from memnet.domain.core.scope import Actor
from memnet.domain.governance.erasure import fence_name
from memnet.domain.governance.withdrawn import register_key
from memnet.domain.replay.replay import replay_key
from memnet.domain.replay.snapshot import replay_id_of, snapshot_key
from memnet.operations.replay.turns import store_turns
from memnet.operations.service.backlog import requeue_jobs
from memnet.ports import StoreConflict
from tests.memory_blobs import storage_of
from tests.operations.replay_scenario import RecordingQueue
from tests.operations.turn_scenario import ACTOR, SCOPE, TurnWorld, body, job_of, turn
from tests.waves import wave_blobs

KEY = snapshot_key(SCOPE, "c1", "t7")
REPLAY = replay_id_of(KEY)
BLOBS = {
    "marker": f"repairs/jobs/replay/t1/u1/{REPLAY}",
    "snapshot": KEY.blob_name,
    "replay": replay_key(SCOPE, REPLAY).blob_name,
    "turn mark": "",
}
SUBSETS = [frozenset(chosen) for size in range(5) for chosen in combinations(sorted(BLOBS), size)]


async def test_a_turn_takes_the_fence_and_then_one_wave_of_creations() -> None:
    blobs, storage = await wave_blobs("t1")
    world = TurnWorld(blobs=blobs)
    await world.store(turn("first"))
    storage.waves.clear()
    await store_turns(SCOPE, "c1", body(), world.service, actor=ACTOR)
    answered = len(storage.waves)
    await world.background.drain()
    fence, wave = storage.waves
    assert answered == 2
    assert sorted(fence) == sorted(f"get {name}" for name in (fence_name(SCOPE), register_key(SCOPE).blob_name))
    assert sorted(call.split()[0] for call in wave) == ["put"] * 4
    assert {BLOBS["marker"], BLOBS["snapshot"], BLOBS["replay"]} < {call.split()[1] for call in wave}


async def test_many_turns_take_no_more_waves() -> None:
    blobs, storage = await wave_blobs("t1")
    world = TurnWorld(blobs=blobs)
    await world.store(turn("first"))
    storage.waves.clear()
    await world.store(*(turn(f"t{number}") for number in range(16)))
    assert [len(wave) for wave in storage.waves] == [2, 64]


async def left_by_a_crash(subset: frozenset[str]) -> TurnWorld:
    """A storage in which a request has created only these blobs before its process ended."""
    world = TurnWorld()
    await store_turns(SCOPE, "c1", body(), world.process(queue=RecordingQueue()), actor=ACTOR)
    await world.background.drain()
    assert isinstance(world.queue, RecordingQueue)
    storage = storage_of(world.records)
    for name in BLOBS.keys() - subset:
        if name == "turn mark":
            await world.turn_marks.unmark(KEY)
        else:
            await storage.delete(BLOBS[name])
    return world


@pytest.mark.parametrize("subset", SUBSETS, ids=lambda subset: "+".join(sorted(subset)) or "nothing")
async def test_the_same_request_completes_whatever_a_crash_left(subset: frozenset[str]) -> None:
    world = await left_by_a_crash(subset)
    stored = await world.store()
    assert stored.replayed is ("snapshot" in subset)
    assert stored.turns[0].queued
    assert (await world.snapshot()).is_turn
    assert not (await world.replay(REPLAY)).finished
    assert await world.marked() == [job_of(REPLAY)]
    assert await world.turn_marks.is_marked(KEY)
    assert isinstance(world.queue, RecordingQueue)
    assert [job for job, _, _ in world.queue.sent] == [job_of(REPLAY)]


@pytest.mark.parametrize("subset", SUBSETS, ids=lambda subset: "+".join(sorted(subset)) or "nothing")
async def test_a_marker_without_a_record_goes_and_one_with_it_has_the_job_sent(subset: frozenset[str]) -> None:
    world = await left_by_a_crash(subset)
    world.clock.advance(timedelta(minutes=2))
    await requeue_jobs(world.service)
    is_due = {"marker", "replay"} <= subset
    assert await world.marked() == ([job_of(REPLAY)] if is_due else [])
    assert isinstance(world.queue, RecordingQueue)
    assert [job for job, _, _ in world.queue.sent] == ([job_of(REPLAY)] if is_due else [])


async def test_a_conflicting_turn_gives_the_replay_to_the_snapshot_that_a_crash_left() -> None:
    world = await left_by_a_crash(frozenset({"snapshot"}))
    other = turn(text="Something else.")
    with pytest.raises(SnapshotExists):
        await store_turns(SCOPE, "c1", body(other), world.service, actor=Actor("svc-other", frozenset()))
    await world.background.drain()
    replay = await world.replay(REPLAY)
    assert (replay.service_id, replay.profile_id) == ("svc-chat", "personal-memory-v1")
    assert await world.marked() == [job_of(REPLAY)]


async def test_a_creation_that_was_applied_unseen_is_the_requests_own() -> None:
    world = TurnWorld()
    storage = storage_of(world.records)
    put = storage.put

    async def put_twice(name: str, *arguments: object, **named: object) -> object:
        tag = await put(name, *arguments, **named)  # type: ignore[arg-type]
        if name in (BLOBS["snapshot"], BLOBS["replay"]) and named["replaces"] is None:
            raise StoreConflict
        return tag

    storage.put = put_twice  # type: ignore[method-assign,assignment]
    stored = await world.store()
    assert (stored.replayed, stored.turns[0].queued) == (False, True)


@pytest.mark.parametrize("count", [2, 8])
async def test_equal_requests_at_once_store_the_turn_once(count: int) -> None:
    world = TurnWorld()
    requests = [store_turns(SCOPE, "c1", body(), world.service, actor=ACTOR) for _ in range(count)]
    found = await asyncio.gather(*requests)
    await world.background.drain()
    assert sum(not one.replayed for one in found) == 1
    assert len({one.turns[0].replay_id for one in found}) == 1
    assert all(one.turns[0].queued for one in found)
    assert await world.marked() == [job_of(REPLAY)]
