"""A replay that was given up is tried again without the conversation being sent once more."""

import pytest

from memnet.domain.core.errors import ReplayNotFound, Unavailable
from memnet.domain.core.job import Job
from memnet.domain.replay import replay as replays
from memnet.domain.replay.replay import Replay, ReplayStatus, replay_key
from memnet.operations.replay.fail_replay import fail_replay
from memnet.operations.replay.retry_replay import retry_replay
from tests.operations.replay_scenario import SCOPE, DownQueue, World
from tests.services import service_of


async def retry(world: World, replay_id: str) -> Replay:
    return await retry_replay(
        SCOPE, replay_id, service_of(records=world.records, marks=world.marks, queue=world.queue, clock=world.clock)
    )


async def given_up(world: World) -> Job:
    await world.create_project()
    job = await world.store()
    await fail_replay(job, "PROFILE_FORBIDDEN", service_of(records=world.records, marks=world.marks, clock=world.clock))
    assert job not in await world.marked()
    return job


async def record(world: World, job: Job) -> Replay:
    stored = await world.records.read(replay_key(job.scope, job.job_id))
    assert stored is not None
    return replays.load(stored.data)


async def test_it_waits_again_is_marked_sent_and_goes_on() -> None:
    world = World()
    job = await given_up(world)
    told = await retry(world, job.job_id)
    assert (told.status, told.reason) == (ReplayStatus.QUEUED, None)
    assert job in await world.marked()
    assert (await world.replay(job)).status is ReplayStatus.SUCCEEDED
    assert job not in await world.marked()


async def test_what_was_begun_before_does_not_count_against_it() -> None:
    world = World()
    await world.create_project()
    job = await world.store()
    stored = await world.records.read(replay_key(job.scope, job.job_id))
    assert stored is not None
    begun = replays.started(replays.load(stored.data), world.clock.now())
    await world.records.write(begun.key, replays.dump(begun), replaces=stored.storage_etag)
    await fail_replay(job, "INTERNAL", service_of(records=world.records, marks=world.marks, clock=world.clock))
    told = await retry(world, job.job_id)
    assert (told.attempts, told.begun_before) == (1, 1)
    assert await record(world, job) == told


async def test_one_that_has_not_failed_stays_as_it_is() -> None:
    world = World()
    await world.create_project()
    job = await world.store()
    done = await world.replay(job)
    assert await retry(world, job.job_id) == done
    assert job not in await world.marked()


async def test_without_the_broker_the_mark_has_it_sent_later() -> None:
    world = World()
    job = await given_up(world)
    world.queue = DownQueue()
    assert (await retry(world, job.job_id)).status is ReplayStatus.QUEUED
    assert job in await world.marked()


async def test_one_that_is_not_there_is_not_found() -> None:
    with pytest.raises(ReplayNotFound):
        await retry(World(), "rpl-none")


async def test_a_storage_that_fails_changes_nothing() -> None:
    world = World()
    job = await given_up(world)

    class Down:
        async def mark(self, job: Job) -> None:
            raise Unavailable(dependency="blob_storage")

    with pytest.raises(Unavailable):
        await retry_replay(
            SCOPE, job.job_id, service_of(records=world.records, marks=Down(), queue=world.queue, clock=world.clock)
        )
    assert (await record(world, job)).status is ReplayStatus.FAILED
