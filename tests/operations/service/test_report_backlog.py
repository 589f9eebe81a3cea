"""The recorded ages of the oldest unfinished work."""

from datetime import timedelta

import pytest

from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.memory.telemetry import MemoryTelemetry
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.governance import tenant_erasure
from memnet.domain.governance.erasure import Erasure, Store, dump
from memnet.domain.governance.tenant_erasure import TenantErasure
from memnet.domain.upkeep.marks import Work, due_mark
from memnet.domain.upkeep.shard_run import new_run
from memnet.operations.service.backlog import MAX_MARKERS, UNREADABLE_AGE, Backlog, report_backlog
from memnet.stores import ErasureStore, EventStore, JobMarks, UpkeepMarks
from tests.memory_blobs import memory_blobs
from tests.services import service_of

MINUTE = timedelta(minutes=1)


class World:
    """Marks of jobs and events, dated by a clock."""

    def __init__(self) -> None:
        self.clock = FrozenClock()
        blobs = memory_blobs(self.clock)
        self.marks, self.events = JobMarks(blobs), EventStore(blobs)
        self.telemetry, self.fences = MemoryTelemetry(), ErasureStore(blobs)

    async def mark(self, kind: JobKind, job_id: str) -> None:
        await self.marks.mark(Job(kind, "t1", "u1", job_id))

    async def tell(self) -> Backlog:
        return await report_backlog(
            service_of(
                marks=self.marks, events=self.events, erasures=self.fences, clock=self.clock, telemetry=self.telemetry
            )
        )


@pytest.fixture
def world() -> World:
    return World()


async def test_the_oldest_replay_counts_and_no_other_job(world: World) -> None:
    await world.mark(JobKind.CONFLICT, "cfl-1")
    world.clock.advance(MINUTE)
    await world.mark(JobKind.REPLAY, "rpl-2")
    world.clock.advance(MINUTE)
    await world.mark(JobKind.REPLAY, "rpl-1")
    world.clock.advance(MINUTE)
    assert await world.tell() == Backlog(120.0, 0.0, 0.0)
    assert world.telemetry.values["memnet.replay.oldest_age"] == [(120.0, {})]


async def test_the_oldest_erasure_counts_and_a_corrupt_one_as_very_old(world: World) -> None:
    for number in (1, 2):
        scope = UserScope("t1", f"u{number}")
        begun = Erasure(
            scope=scope,
            erasure_id="e1",
            requested_by="svc",
            accepted_at=to_text(world.clock.now()),
            stores=(Store.BLOBS,),
            settle_seconds=960,
        )
        await world.fences.write(scope, dump(begun), replaces=None)
        world.clock.advance(MINUTE)
    assert await world.tell() == Backlog(0.0, 0.0, 120.0)
    assert world.telemetry.values["memnet.erasure.oldest_age"] == [(120.0, {})]
    await world.fences.write(UserScope("t1", "u3"), b"{}", replaces=None)
    assert (await world.tell()).erasures == UNREADABLE_AGE


async def test_the_oldest_day_of_due_marks_and_the_oldest_unfinished_run_count(world: World) -> None:
    upkeep, scope, now = UpkeepMarks(world.fences._blobs), UserScope("t1", "u1"), world.clock.now()
    await upkeep.add_due(due_mark(scope, now))
    world.clock.advance(timedelta(days=1))
    assert await world.tell() == Backlog(0.0, 0.0, 0.0)
    run = new_run(Work.DUE, "00", "rules", world.clock.now())
    await upkeep.write_run(run.moved("cursor", now), replaces=None)
    await upkeep.write_run(new_run(Work.ALL, "00", "rules", now).moved(None, now), replaces=None)
    world.clock.advance(MINUTE)
    assert await world.tell() == Backlog(0.0, 0.0, 0.0, overdue=60.0, runs=60.0)
    assert world.telemetry.values["memnet.upkeep.overdue"] == [(0.0, {}), (60.0, {})]
    assert world.telemetry.values["memnet.upkeep.oldest_run_age"] == [(0.0, {}), (60.0, {})]


async def test_the_erasure_of_a_tenant_counts_while_it_runs(world: World) -> None:
    begun = TenantErasure(
        tenant_id="t1",
        erasure_id="e1",
        requested_by="svc",
        accepted_at=to_text(world.clock.now()),
        stores=(Store.BLOBS,),
        failing={"legal_hold": "TENANT_HELD"},
    )
    tag = await world.fences.write_end("t1", tenant_erasure.dump(begun), replaces=None, runs=True)
    world.clock.advance(MINUTE)
    assert (await world.tell()).erasures == 60.0
    await world.fences.write_end("t1", tenant_erasure.dump(begun), replaces=tag, runs=False)
    assert (await world.tell()).erasures == 0.0
    await world.fences.write_end("t2", b"{}", replaces=None, runs=True)
    assert (await world.tell()).erasures == UNREADABLE_AGE


async def test_all_markers_are_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.mark(JobKind.REPLAY, "rpl-z")
    world.clock.advance(MINUTE)
    for number in range(MAX_MARKERS + 1):
        await world.mark(JobKind.REPLAY, f"rpl-{number}")
    assert await world.tell() == Backlog(60.0, 0.0, 0.0)
