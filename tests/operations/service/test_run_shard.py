"""Upkeep in shards: every user is served, whatever is interrupted, and the cost follows the work and not the users."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memnet.domain.catalog.retention_policy import Ceilings
from memnet.domain.core.errors import MalformedRequest, Unavailable
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import UserScope
from memnet.domain.governance.tenant_erasure import ended_name
from memnet.domain.upkeep.marks import SHARDS, Work, changed_mark, due_mark, job_of, rules_hash, shard_of
from memnet.domain.upkeep.shard_run import BUDGET, STALLED, ShardRun, run_name
from memnet.operations.service import run_shard as module
from memnet.operations.service.run_shard import run_job, run_shard, send_shards
from tests.domain.samples import CATALOG
from tests.operations.upkeep_marks_scenario import DAY, READY, Killed, UpkeepWorld, of_one_shard

STRICTER = replace(CATALOG, ceilings=Ceilings(events_max_days=3))
SIX = of_one_shard(6)
SHARD = shard_of(SIX[0])


@pytest.fixture
def world() -> UpkeepWorld:
    return UpkeepWorld()


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 2)


async def changed(world: UpkeepWorld, *scopes: UserScope) -> None:
    """Change the users, and let their marks become ready."""
    for scope in scopes:
        await world.patch(scope)
    world.clock.advance(READY)


async def jobs(world: UpkeepWorld) -> list[Job]:
    """Receive and complete every job in the queue."""
    found: list[Job] = []
    queue: Any = world.service.queue
    while (received := await queue.receive(JobKind.UPKEEP)) is not None:
        await queue.complete(received[0])
        found.append(received[0])
    return found


async def test_a_changed_user_is_tended_once_the_hour_is_settled(world: UpkeepWorld) -> None:
    await world.patch(SIX[0])
    assert await world.users(Work.CHANGED) == 0
    assert world.changed() == [changed_mark(SIX[0], world.clock.now()).blob_name]
    world.clock.advance(READY)
    report = await run_shard(Work.CHANGED, SHARD, world.service)
    assert (report.users, report.kept, report.finished, report.counts["signed"]) == (1, 0, True, 1)
    assert world.changed() == []
    assert await world.users(Work.CHANGED) == 0


async def test_the_marks_of_several_hours_are_one_look(world: UpkeepWorld) -> None:
    for _ in range(3):
        await changed(world, SIX[0])
    await world.patch(SIX[0])
    assert len(world.changed()) == 4
    assert await world.users(Work.CHANGED) == 1
    assert world.changed() == [changed_mark(SIX[0], world.clock.now()).blob_name]


async def test_a_due_user_gets_the_next_mark_and_loses_the_old_one(world: UpkeepWorld) -> None:
    await changed(world, SIX[0])
    await world.run(Work.CHANGED)
    [first] = world.due()
    assert await world.users(Work.DUE) == 0
    world.clock.advance(DAY)
    assert await world.users(Work.DUE) == 1
    assert first not in world.due()


async def test_a_failing_user_keeps_its_mark_and_stops_no_other(
    world: UpkeepWorld, caplog: pytest.LogCaptureFixture
) -> None:
    await changed(world, *SIX)

    def fail(method: str, name: str) -> None:
        if method == "list" and name.startswith(SIX[0].prefix):
            raise Unavailable(dependency="blob_storage")
        if method == "list" and name.startswith(SIX[1].prefix):
            raise RuntimeError("secret")

    world.storage.before = fail
    report = await run_shard(Work.CHANGED, SHARD, world.service)
    assert (report.users, report.kept, report.counts["failed"]) == (6, 2, 2)
    assert [f"/{scope.user_id}/" in name for scope, name in zip(SIX[:2], world.changed(), strict=True)] == [True, True]
    assert "secret" not in caplog.text
    world.storage.before = lambda method, name: None
    assert (await run_shard(Work.CHANGED, SHARD, world.service)).users == 2
    assert world.changed() == []


async def test_a_damaged_user_keeps_its_mark_so_that_every_run_reports_it(
    world: UpkeepWorld, caplog: pytest.LogCaptureFixture
) -> None:
    await changed(world, *SIX[:2])
    await world.run(Work.CHANGED)
    await changed(world, SIX[1])
    world.stored.drop(f"{SIX[1].prefix}documents/projects/alpha.json")
    for number in (1, 2):
        report = await run_shard(Work.CHANGED, SHARD, world.service)
        assert (report.users, report.kept, report.counts["broken"]) == (1, 1, 1)
        assert caplog.text.count("history_verification_failed") == number


async def test_a_user_under_erasure_keeps_its_mark_without_an_alarm(
    world: UpkeepWorld, caplog: pytest.LogCaptureFixture
) -> None:
    await changed(world, SIX[0])
    await world.service.erasures.write(SIX[0], b"{}", replaces=None)
    report = await run_shard(Work.CHANGED, SHARD, world.service)
    assert (report.users, report.kept) == (1, 1)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_the_marks_of_a_tenant_that_has_ended_are_removed(world: UpkeepWorld) -> None:
    await changed(world, SIX[0])
    world.stored.overwrite(ended_name("t1"), b"{}")
    assert await world.users(Work.CHANGED) == 1
    assert world.changed() == []


async def test_the_mark_of_a_refused_write_is_removed_without_a_trace(world: UpkeepWorld) -> None:
    await world.service.upkeep._blobs.ensure_changed_mark(SIX[0])
    world.clock.advance(READY)
    assert await world.users(Work.CHANGED) == 1
    assert world.stored.names() == []


@pytest.mark.usefixtures("small_pages")
async def test_when_the_budget_is_spent_the_next_job_continues(world: UpkeepWorld) -> None:
    await changed(world, *SIX)
    served: list[str] = []

    def slow(method: str, name: str) -> None:
        if method == "delete" and name.startswith("changed/"):
            served.append(name.split("/")[3])
            world.clock.advance(BUDGET / 2)

    world.storage.before = slow
    first = await run_job(job_of(Work.CHANGED, SHARD), world.service)
    assert (first.users, first.finished) == (2, False)
    assert await send_shards(Work.CHANGED, world.service) == 0, "a job of the run is waiting"
    for users, finished in ((2, False), (2, True)):
        [job] = await jobs(world)
        world.clock.advance(timedelta(minutes=1))
        report = await run_job(job, world.service)
        assert (report.users, report.finished) == (users, finished)
    assert await jobs(world) == []
    assert served == [scope.user_id for scope in SIX]
    assert world.stored.names("upkeep/") == []


@pytest.mark.usefixtures("small_pages")
async def test_no_user_waits_for_ever_behind_users_that_fail(world: UpkeepWorld) -> None:
    """They are first in name order, keep their marks, and use up the budget of every job."""
    await changed(world, *SIX)

    def fail(method: str, name: str) -> None:
        if method == "list" and name.startswith(tuple(scope.prefix for scope in SIX[:4])):
            world.clock.advance(BUDGET)
            raise Unavailable(dependency="blob_storage")

    world.storage.before = fail
    for _ in range(3):
        await run_shard(Work.CHANGED, SHARD, world.service)
    assert [name.split("/")[3] for name in world.changed()] == [scope.user_id for scope in SIX[:4]]


@pytest.mark.usefixtures("small_pages")
async def test_a_page_that_kills_every_process_stops_no_user_after_it(world: UpkeepWorld) -> None:
    await changed(world, *SIX)

    def kill(method: str, name: str) -> None:
        if method == "list" and name.startswith(SIX[0].prefix):
            raise Killed

    world.storage.before = kill
    with pytest.raises(Killed):
        await run_shard(Work.CHANGED, SHARD, world.service)
    assert (await run_shard(Work.CHANGED, SHARD, world.service)).finished
    left = {name.split("/")[3] for name in world.changed()}
    assert left <= {scope.user_id for scope in SIX[:2]}


async def twin(work: Work, scopes: list[UserScope]) -> UpkeepWorld:
    """A world in which the users have work to do."""
    world = UpkeepWorld()
    await changed(world, *scopes)
    if work is not Work.CHANGED:
        await world.run(Work.CHANGED)
        world.clock.advance(DAY)
    if work is Work.ALL:
        for name in world.due():
            world.stored.drop(name)
    world.storage.count()
    return world


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("work", list(Work))
async def test_killed_at_any_call_it_resumes_and_everyone_is_served(work: Work) -> None:
    scopes = SIX[:3]
    undisturbed = await twin(work, scopes)
    await run_shard(work, SHARD, undisturbed.service)
    total = undisturbed.storage.count()
    assert total > 10
    for number in range(1, total):
        world = await twin(work, scopes)
        world.storage.kill_at = number
        with suppress(Killed):
            await run_shard(work, SHARD, world.service)
        world.storage.kill_at = None
        world.blobs._marks = type(world.blobs._marks)()
        for _ in range(2):
            assert (await run_shard(work, SHARD, world.service)).finished
        place = "due/" if work is Work.ALL else ""
        assert world.stored.names(place) == undisturbed.stored.names(place), number


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("work", list(Work))
async def test_two_workers_on_one_shard_do_no_harm(work: Work) -> None:
    undisturbed, world = await twin(work, SIX), await twin(work, SIX)
    await run_shard(work, SHARD, undisturbed.service)
    await asyncio.gather(*(run_shard(work, SHARD, world.service) for _ in range(2)))
    await run_shard(work, SHARD, world.service)
    place = "due/" if work is Work.ALL else ""
    assert world.stored.names(place) == undisturbed.stored.names(place)


async def test_a_stalled_run_gets_a_new_job_and_an_active_one_does_not(world: UpkeepWorld) -> None:
    await changed(world, SIX[0])
    run = ShardRun(Work.CHANGED, SHARD, "", *[world.clock.now().isoformat(timespec="microseconds")[:26] + "Z"] * 2)
    await world.service.upkeep.write_run(run, replaces=None)
    assert await send_shards(Work.CHANGED, world.service) == 0
    world.clock.advance(STALLED)
    assert await send_shards(Work.CHANGED, world.service) == 1
    assert await jobs(world) == [job_of(Work.CHANGED, SHARD)]


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"work":"changed"}'])
async def test_a_damaged_run_begins_again(world: UpkeepWorld, data: bytes) -> None:
    await changed(world, SIX[0])
    world.stored.overwrite(run_name(Work.CHANGED, SHARD), data)
    assert (await run_shard(Work.CHANGED, SHARD, world.service)).users == 1
    assert world.stored.names("upkeep/") == []


@pytest.mark.parametrize("work", list(Work))
async def test_a_cursor_of_another_list_begins_again(world: UpkeepWorld, work: Work) -> None:
    scopes = SIX[:2]
    world = await twin(work, scopes)
    now = world.clock.now().isoformat(timespec="microseconds")[:26] + "Z"
    rules = rules_hash(world.service.catalog)
    await world.service.upkeep.write_run(ShardRun(work, SHARD, rules, now, now, cursor="AAAA:AAAA"), replaces=None)
    assert (await run_shard(work, SHARD, world.service)).users == 2


async def test_a_job_without_a_shard_is_refused(world: UpkeepWorld) -> None:
    with pytest.raises(MalformedRequest):
        await run_job(Job(JobKind.UPKEEP, None, None, "due-99"), world.service)


async def test_new_rules_reach_users_without_marks_once(world: UpkeepWorld) -> None:
    await changed(world, *SIX)
    for name in world.changed():
        world.stored.drop(name)
    assert await send_shards(Work.ALL, world.service) == len(SHARDS)
    for job in await jobs(world):
        await run_job(job, world.service)
    today = world.clock.now()
    assert world.due() == [due_mark(scope, today).blob_name for scope in SIX]
    assert await send_shards(Work.ALL, world.service) == 0
    assert await world.users(Work.DUE) == len(SIX)
    for name in world.due():
        world.stored.drop(name)
    world.with_catalog(STRICTER)
    world.clock.advance(timedelta(hours=1))
    assert await send_shards(Work.ALL, world.service) == len(SHARDS)
    await world.run(Work.ALL)
    assert len(world.due()) == len(SIX)


@pytest.mark.usefixtures("small_pages")
async def test_the_pass_over_all_users_continues_through_the_tenants(world: UpkeepWorld) -> None:
    scopes = [UserScope(tenant, f"u{n}") for tenant in ("a", "b", "c") for n in range(5)]
    await changed(world, *scopes)
    world.storage.before = lambda method, name: world.clock.advance(BUDGET) if name.startswith("upkeep/") else None
    for shard in {shard_of(scope) for scope in scopes}:
        jobs_needed = 1
        while not (await run_shard(Work.ALL, shard, world.service)).finished:
            jobs_needed += 1
        assert jobs_needed > 3
    assert len(world.due()) == len(scopes)
