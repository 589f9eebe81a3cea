"""Sending a job that is marked."""

from datetime import UTC, datetime

from memnet.domain.core.job import Job, JobKind
from memnet.operations.replay.send_job import send_job
from tests.operations.replay_scenario import DownQueue, RecordingQueue

JOB = Job(JobKind.CONFLICT, "t1", "u1", "x")
DUE = datetime(2026, 1, 1, tzinfo=UTC)


async def test_a_job_is_sent_with_its_attempt_and_time() -> None:
    queue = RecordingQueue()
    assert await send_job(JOB, attempt=3, due=DUE, queue=queue)
    assert queue.sent == [(JOB, 3, DUE)]


async def test_with_a_broker_that_is_down_it_is_left_to_the_mark() -> None:
    assert not await send_job(JOB, attempt=0, due=None, queue=DownQueue())
