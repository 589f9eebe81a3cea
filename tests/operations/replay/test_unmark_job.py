"""Taking a mark away."""

from typing import Any

from memnet.domain.replay import replay as replays
from memnet.domain.replay.replay import replay_key, requeued
from memnet.operations.replay.fail_replay import fail_replay
from memnet.operations.replay.unmark_job import unmark_job
from tests.operations.replay_scenario import SCOPE, Watched, World
from tests.services import service_of


async def test_the_mark_of_a_finished_job_goes() -> None:
    world = World()
    job = await world.store()
    await fail_replay(job, "x", service_of(records=world.records, marks=world.marks, clock=world.clock))
    await world.marks.mark(job)
    await unmark_job(job, service_of(records=world.records, marks=world.marks))
    assert await world.marked() == []


async def test_a_job_that_became_due_in_the_meantime_is_marked_again() -> None:
    world = World()
    job = await world.store()
    await fail_replay(job, "x", service_of(records=world.records, marks=world.marks, clock=world.clock))

    async def asked_for_again(name: str, call: Any) -> Any:
        await call()
        if name == "marks.unmark":
            stored = await world.records.read(replay_key(SCOPE, job.job_id))
            assert stored is not None
            again = requeued(replays.load(stored.data), world.clock.now())
            await world.records.write(again.key, replays.dump(again), replaces=stored.storage_etag)

    marks: Any = Watched("marks", world.marks, asked_for_again)
    await unmark_job(job, service_of(records=world.records, marks=marks))
    assert await world.marked() == [job]
