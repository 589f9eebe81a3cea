"""Giving a replay up."""

import asyncio

from memnet.adapters.memory.models import ScriptedModels
from memnet.domain.core.job import Job, JobKind
from memnet.domain.replay.replay import Replay, ReplayStatus
from memnet.operations.replay.fail_replay import fail_replay
from tests.operations.replay_scenario import DYNAMIC, PREFERENCE, World, answer
from tests.services import service_of


async def fail(world: World, job: Job) -> Replay | None:
    return await fail_replay(
        job, "UNAVAILABLE", service_of(records=world.records, marks=world.marks, clock=world.clock)
    )


async def test_a_replay_that_is_given_up_says_why_and_is_marked_no_more() -> None:
    world = World()
    job = await world.store()
    found = await fail(world, job)
    assert found is not None
    assert (found.status, found.reason) == (ReplayStatus.FAILED, "UNAVAILABLE")
    assert (await world.told(job))["reason"] == "UNAVAILABLE"
    assert await world.marked() == []
    assert await fail(world, job) == found


async def test_the_same_snapshot_again_has_it_tried_anew() -> None:
    world = World(models=ScriptedModels([answer(PREFERENCE)]))
    job = await world.store()
    await fail(world, job)
    await world.store_again()
    assert await world.marked() == [job]
    assert (await world.told(job))["status"] == "queued"
    assert (await world.replay(job)).status is ReplayStatus.SUCCEEDED
    assert (await world.told(job))["reason"] is None
    assert (await world.content(DYNAMIC))["preferences"] == ["Prefers concise answers"]


async def test_a_finished_replay_stays_as_it_is() -> None:
    world = World(models=ScriptedModels([answer(PREFERENCE)]))
    job = await world.store()
    done = await world.replay(job)
    await world.marks.mark(job)
    assert await fail(world, job) == done
    assert await world.marked() == []


async def test_beside_a_worker_it_ends_one_way_or_the_other() -> None:
    world = World(models=ScriptedModels([answer(PREFERENCE)]))
    job = await world.store()
    found, failed = await asyncio.gather(world.replay(job), fail(world, job))
    assert failed is not None
    assert found.status is failed.status is ReplayStatus((await world.told(job))["status"])
    assert await world.marked() == []


async def test_of_a_replay_that_is_not_there_only_the_mark_goes() -> None:
    world = World()
    job = Job(JobKind.REPLAY, "t1", "u1", "rpl-none")
    await world.marks.mark(job)
    assert await fail(world, job) is None
    assert await world.marked() == []
