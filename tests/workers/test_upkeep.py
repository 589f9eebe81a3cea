"""Upkeep by the workers: a timer sends the jobs of shards, and a message runs one."""

import pytest

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.job import Job, JobKind, dump, message_id, session_id
from memnet.domain.core.scope import UserScope
from memnet.domain.upkeep.marks import SHARDS, Work, job_of, shard_of
from tests.operations.service.test_run_shard import changed, jobs
from tests.operations.upkeep_marks_scenario import DAY, UpkeepWorld
from workers import handlers
from workers.handlers import UPKEEP
from workers.message_handling import DeadLetter, Delivery, handle

ONE = UserScope("t1", "u1")


@pytest.fixture
def world() -> UpkeepWorld:
    return UpkeepWorld()


async def deliver(world: UpkeepWorld, job: Job) -> DeadLetter | None:
    delivery = Delivery(dump(job), message_id(job, 7), session_id(job), attempt=7)
    return await handle(delivery, UPKEEP, world.service, retry_delays=())


async def test_the_timers_and_their_jobs_serve_a_changed_user(world: UpkeepWorld) -> None:
    await changed(world, ONE)
    assert await handlers.tend_users(world.service) == 1
    [job] = await jobs(world)
    assert job == job_of(Work.CHANGED, shard_of(ONE))
    assert await deliver(world, job) is None
    assert world.changed() == []
    assert await handlers.apply_due(world.service) == 0
    world.clock.advance(DAY)
    assert await handlers.apply_due(world.service) == 1
    [job] = await jobs(world)
    assert await deliver(world, job) is None
    assert await handlers.mark_all_users(world.service) == len(SHARDS)


async def test_a_job_that_fails_leaves_the_rest_to_the_next_timer(world: UpkeepWorld) -> None:
    await changed(world, ONE)

    def fail(method: str, name: str) -> None:
        raise Unavailable(dependency="blob_storage")

    world.storage.before = fail
    assert await deliver(world, job_of(Work.CHANGED, shard_of(ONE))) is None
    world.storage.before = lambda method, name: None
    assert await jobs(world) == []
    assert await handlers.tend_users(world.service) == 1


async def test_a_job_of_no_shard_is_a_dead_letter(world: UpkeepWorld) -> None:
    letter = await deliver(world, Job(JobKind.UPKEEP, None, None, "due-99"))
    assert letter is not None
    assert (letter.reason, letter.queue) == ("MALFORMED_REQUEST", "memnet-upkeep")
