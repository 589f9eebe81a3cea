"""What waits, and since when."""

from datetime import timedelta
from typing import Any

import pytest

from memnet.adapters.memory.clock import FrozenClock
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import UserScope
from memnet.domain.events.event import EventKey
from memnet.operations.service import backlog as module
from memnet.operations.service.backlog import get_statistics
from memnet.stores import EventStore, JobMarks
from tests.memory_blobs import memory_blobs
from tests.services import service_of

NOTHING = {"waiting": 0, "oldest_at": None, "oldest_age_seconds": 0.0}


class World:
    """Marks that stand since different times."""

    def __init__(self) -> None:
        self.clock = FrozenClock()
        blobs = memory_blobs(self.clock)
        self.marks, self.events = JobMarks(blobs), EventStore(blobs)

    async def reported(self, most: int | None = 100) -> Any:
        found = await get_statistics(service_of(marks=self.marks, events=self.events, clock=self.clock), limit=most)
        return found.to_json()

    async def job(self, kind: JobKind, job_id: str, user_id: str | None = "u1") -> None:
        await self.marks.mark(Job(kind, "t1", user_id, job_id))


async def test_nothing_waits_in_a_new_service() -> None:
    assert await World().reported() == {
        "jobs": {"replay": NOTHING, "conflict": NOTHING, "reindex": NOTHING, "retraction": NOTHING},
        "events_to_index": NOTHING,
        "complete": True,
    }


async def test_the_oldest_of_each_kind_is_reported() -> None:
    world = World()
    await world.job(JobKind.REPLAY, "rpl-z")
    world.clock.advance(timedelta(seconds=30))
    await world.job(JobKind.REPLAY, "rpl-a")
    await world.job(JobKind.REINDEX, "r-1", None)
    await world.events.mark(EventKey(UserScope("t2", "u9"), "e1"), "m1")
    confirmed = await world.events.mark(EventKey(UserScope("t2", "u9"), "e2"), "m2")
    assert confirmed is not None
    await world.events.confirm(confirmed)
    world.clock.advance(timedelta(seconds=12.5))
    reported = await world.reported()
    assert reported["jobs"]["replay"] == {
        "waiting": 2,
        "oldest_at": "2026-01-01T00:00:00.000000Z",
        "oldest_age_seconds": 42.5,
    }
    assert reported["jobs"]["reindex"]["oldest_age_seconds"] == 12.5
    assert reported["jobs"]["conflict"] == NOTHING
    assert (reported["events_to_index"]["waiting"], reported["events_to_index"]["oldest_age_seconds"]) == (1, 12.5)


@pytest.mark.parametrize(
    ("jobs", "most", "complete", "counted"), [(6, 4, False, 4), (4, 4, True, 4), (6, None, True, 6)]
)
async def test_a_longer_backlog_is_reported_as_incomplete(
    monkeypatch: pytest.MonkeyPatch, jobs: int, most: int | None, complete: bool, counted: int
) -> None:
    monkeypatch.setattr(module, "PAGE_SIZE", 2)
    world = World()
    for number in range(jobs):
        await world.job(JobKind.REPLAY, f"rpl-{number}")
    reported = await world.reported(most)
    assert (reported["complete"], reported["jobs"]["replay"]["waiting"]) == (complete, counted)
