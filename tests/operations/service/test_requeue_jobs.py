"""Jobs that were lost on their way are sent again; marks of what is done go."""

from datetime import datetime, timedelta

import pytest

from memnet.adapters.memory.models import ScriptedModels
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.job import Job, JobKind
from memnet.domain.replay.conflict import BACKOFF
from memnet.domain.replay.replay import replay_key
from memnet.operations.service.backlog import GRACE, MAX_FAILURES, RequeueReport, requeue_jobs
from tests.operations.replay_scenario import PREFERENCE, SCOPE, World, answer, disputed_world
from tests.services import service_of

LATER = GRACE + timedelta(seconds=1)


async def test_a_replay_whose_message_was_lost_is_sent_again_after_the_grace() -> None:
    world = World()
    job = await world.store()
    world.queue.sent.clear()
    assert await world.requeue() == RequeueReport(sent=0, unmarked=0, waiting=0)
    world.clock.advance(LATER)
    assert await world.requeue() == RequeueReport(sent=1, unmarked=0, waiting=0)
    assert world.queue.sent == [(job, 0, None)]
    assert await world.marked() == [job]


async def test_a_started_replay_is_sent_as_another_attempt() -> None:
    world = World(models=ScriptedModels([Unavailable()]))
    job = await world.store()
    try:
        await world.replay(job)
    except Unavailable:
        world.clock.advance(LATER)
    await world.requeue()
    assert world.queue.sent[-1] == (job, 1, None)


async def test_markers_of_finished_and_missing_jobs_are_deleted() -> None:
    world = World(models=ScriptedModels([answer(PREFERENCE)]))
    job = await world.store()
    await world.replay(job)
    for one in (job, Job(JobKind.REPLAY, "t1", "u1", "rpl-none"), Job(JobKind.CONFLICT, "t1", "u1", "cfl-none")):
        await world.marks.mark(one)
    world.clock.advance(LATER)
    assert await world.requeue() == RequeueReport(sent=0, unmarked=3, waiting=0)
    assert await world.marked() == []


async def test_a_conflict_is_sent_again_when_its_retry_is_overdue() -> None:
    world, conflict = await disputed_world()
    world.queue.sent.clear()
    world.clock.advance(LATER)
    assert (await world.requeue()).sent == 0
    world.clock.advance(BACKOFF[0])
    assert (await world.requeue()).sent == 1
    assert world.queue.sent == [(conflict.job, 1, None)]


async def test_a_reindexing_is_sent_until_its_marker_is_deleted() -> None:
    world = World()
    job = Job(JobKind.REINDEX, "t1", None, "x")
    await world.marks.mark(job)
    world.clock.advance(LATER)
    assert (await world.requeue()).sent == 1
    assert await world.marked() == [job]


async def test_an_unavailable_broker_is_not_called_for_every_job() -> None:
    world = World()
    for number in range(10):
        await world.store(f"s{number}")
    world.clock.advance(LATER)
    calls = []

    class Down:
        async def send(self, job: Job, *, attempt: int = 0, due: datetime | None = None) -> None:
            calls.append(job)
            raise Unavailable(dependency="service_bus")

        async def ping(self) -> None:
            """Not calls."""

    report = await requeue_jobs(service_of(records=world.records, marks=world.marks, queue=Down(), clock=world.clock))
    assert report == RequeueReport(sent=0, unmarked=0, waiting=10)
    assert len(calls) == MAX_FAILURES


async def test_unreadable_jobs_do_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    """However many they are: nothing is wrong with the broker."""
    world = World()
    for number in range(2 * MAX_FAILURES):
        await world.records.write(replay_key(SCOPE, f"rpl-{number}"), b"[]", replaces=None)
        await world.marks.mark(Job(JobKind.REPLAY, "t1", "u1", f"rpl-{number}"))
    await world.marks.mark(Job(JobKind.REPLAY, "t1", None, "rpl-x"))
    job = await world.store()
    world.queue.sent.clear()
    world.clock.advance(LATER)
    assert await world.requeue() == RequeueReport(sent=1, unmarked=0, waiting=0, broken=2 * MAX_FAILURES + 1)
    assert world.queue.sent == [(job, 0, None)]
    assert "job_unreadable" in caplog.text
