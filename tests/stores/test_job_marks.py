"""The JobMarks."""

from datetime import timedelta
from typing import Any

from memnet.adapters.memory.clock import FrozenClock
from memnet.domain.core.job import PENDING_MARKERS, Job, JobKind
from memnet.paging import rows
from memnet.stores import JobMarks
from tests.memory_blobs import memory_blobs, storage_of

JOB = Job(JobKind.REPLAY, "t1", "u1", "rpl-1")


async def listed(marks: JobMarks, limit: int = 2) -> list[Job]:
    return [marked.job async for marked in rows(marks.list, limit)]


async def test_marks_come_and_go_one_by_one(marks: Any) -> None:
    other = Job(JobKind.REPLAY, "t1", "u1", "rpl-2")
    for job in (JOB, other, JOB):
        await marks.mark(job)
    assert await listed(marks) == [JOB, other]
    await marks.unmark(JOB)
    await marks.unmark(JOB)
    assert await listed(marks) == [other]


async def test_jobs_with_one_id_differ_by_kind_tenant_and_user(marks: Any) -> None:
    jobs = [
        Job(JobKind.CONFLICT, "t1", "u1", "x"),
        Job(JobKind.REINDEX, "t1", None, "x"),
        Job(JobKind.REPLAY, "t1", "u1", "x"),
        Job(JobKind.REPLAY, "t1", "u2", "x"),
        Job(JobKind.REPLAY, "t2", "u1", "x"),
    ]
    for job in reversed(jobs):
        await marks.mark(job)
    for limit in (1, 3, 100):
        assert await listed(marks, limit) == jobs
    await marks.unmark(jobs[1])
    assert await listed(marks) == [jobs[0], *jobs[2:]]


async def test_a_second_mark_keeps_the_first_ones_time() -> None:
    clock = FrozenClock()
    marks = JobMarks(memory_blobs(clock))
    await marks.mark(JOB)
    since = clock.now()
    clock.advance(timedelta(minutes=5))
    await marks.mark(JOB)
    assert [marked.since for marked in (await marks.list(limit=10, cursor=None)).items] == [since]


async def test_what_is_no_mark_is_passed_over(marks: Any) -> None:
    await marks.mark(JOB)
    for name in ("replay/t1/u1/x/y", "replay/t1/u1", "sweep/t1/u1/x", "replay/-/u1/x", "replay/t1/u1/!"):
        storage_of(marks).overwrite(f"{PENDING_MARKERS}{name}", b"")
    assert await listed(marks, 100) == [JOB]
