"""Snapshots, replays, conflicts, access and import records are deleted when nothing can continue them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memnet.domain.catalog.retention_policy import SKEW, Ceilings, Tally
from memnet.domain.core.errors import VaultUnavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.core.user_item import ItemKey, ItemKind, dated_key
from memnet.domain.governance.usage_records import dump_usage
from memnet.domain.recall.entry_uses import EntryUses, no_uses
from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay import replay as replays
from memnet.domain.replay.replay import ReplayStatus, replay_key
from memnet.domain.replay.usage import Usage, new_usage
from memnet.operations.replay.conflicts import discard_conflict
from memnet.operations.replay.proposals import create_conflict
from memnet.operations.replay.replays import fail_replay, replay_snapshot
from tests.domain.replay_samples import details, proposal
from tests.domain.samples import CATALOG
from tests.operations.replay_scenario import Watched
from tests.operations.retention_scenario import (
    ALPHA,
    DAY,
    LEGAL,
    SCOPE,
    Between,
    Fails,
    RetentionWorld,
    StopsAt,
    key_of,
    put,
)
from tests.services import service_of


async def conflict(world: RetentionWorld, replay_id: str = "rpl-1", *, closed: bool = True) -> str:
    made = proposal(replay_id=replay_id)
    await create_conflict(
        made, details(), service_of(vault=world.vault, marks=world.marks, queue=world.queue), rebases=1
    )
    name = conflicts.conflict_id(made)
    if closed:
        ports = {name: port for name, port in world.conflict_ports().items() if name != "queue"}
        await discard_conflict(SCOPE, name, service_of(**ports), actor=LEGAL, note=None)
        await world.background.drain()
    return name


async def test_a_replay_is_kept_while_its_snapshot_exists() -> None:
    world = RetentionWorld()
    await world.converse("s1")
    world.clock.advance(100 * DAY)
    world.catalog = replace(world.catalog, ceilings=Ceilings(snapshots_min_days=150, jobs_max_days=100))
    assert (await world.retain()).report.tallies["replays"] == Tally(blocked=1)
    world.clock.advance(100 * DAY)
    assert (await world.retain()).report.tallies["replays"] == Tally(removed=1)
    assert await world.names(ItemKind.REPLAYS) == []


async def test_a_closed_conflict_is_deleted_and_an_open_one_blocked() -> None:
    world = RetentionWorld()
    opened = await conflict(world, "rpl-open", closed=False)
    await conflict(world, "rpl-closed")
    world.clock.advance(100 * DAY - timedelta(seconds=1))
    assert (await world.retain()).report.tallies["conflicts"] == Tally(retained=2)
    world.clock.advance(timedelta(seconds=1))
    applied = await world.retain()
    assert applied.report.tallies["conflicts"] == Tally(removed=1, blocked=1)
    assert await world.names(ItemKind.CONFLICTS) == [opened]


async def test_a_closed_conflict_is_kept_while_its_replay_can_continue() -> None:
    world = RetentionWorld()
    job = await world.store("s1")
    await fail_replay(job, "DECRYPTION_FAILED", world.service)
    world.clock.advance(30 * DAY)
    await conflict(world, job.job_id)
    world.clock.advance(100 * DAY)
    dry = (await world.retain(dry_run=True)).report.tallies
    # The snapshot goes, with it the replay, and with that the conflict.
    assert (dry["snapshots"], dry["replays"], dry["conflicts"]) == (Tally(removed=1),) * 3
    await world.hold()
    held = (await world.retain()).report.tallies
    assert (held["snapshots"], held["replays"], held["conflicts"]) == (
        Tally(on_hold=1),
        Tally(blocked=1),
        Tally(blocked=1),
    )


async def test_the_markers_of_deleted_items_are_deleted() -> None:
    world = RetentionWorld()
    await conflict(world)
    job = (await world.conflicts())[0][0].job
    await world.marks.mark(job)
    world.clock.advance(100 * DAY)
    await world.retain()
    assert await world.marked() == []


@pytest.mark.parametrize("kind", [ItemKind.ACCESSES, ItemKind.IMPORTS])
async def test_access_and_import_records_expire_by_the_time_in_their_names(kind: ItemKind) -> None:
    world = RetentionWorld()
    for key in (dated_key(SCOPE, kind, world.clock.now(), "r1"), ItemKey(SCOPE, kind, "no-time")):
        await world.records.write(key, b"{}", replaces=None)
    world.clock.advance(100 * DAY - timedelta(seconds=1))
    assert (await world.retain()).report.tallies[kind.value] == Tally(retained=1)
    world.clock.advance(timedelta(seconds=1))
    applied = await world.retain()
    assert (applied.report.tallies[kind.value], applied.report.unreadable[kind.value]) == (Tally(removed=1), 1)
    assert await world.names(kind) == ["no-time"]


@pytest.mark.parametrize("new", [new_usage, no_uses])
async def test_a_usage_record_expires_by_its_last_change(
    new: Callable[[UserScope, datetime], Usage | EntryUses],
) -> None:
    world = RetentionWorld()
    usage = new(SCOPE, world.clock.now())
    await world.records.write(usage.key, dump_usage(usage), replaces=None)
    world.clock.advance(100 * DAY - timedelta(seconds=1))
    assert (await world.retain()).report.tallies["usage"] == Tally(retained=1)
    world.clock.advance(timedelta(seconds=1))
    assert (await world.retain()).report.tallies["usage"] == Tally(removed=1)
    assert await world.names(ItemKind.USAGE) == []


async def fail(world: RetentionWorld, job: Any) -> None:
    await fail_replay(job, "DECRYPTION_FAILED", world.service)


async def status(world: RetentionWorld, job: Any) -> ReplayStatus:
    stored = await world.records.read(replay_key(SCOPE, job.job_id))
    assert stored is not None
    return replays.load(stored.data).status


async def test_a_snapshot_expires_by_its_profiles_rule() -> None:
    world = RetentionWorld()
    await world.converse("s1")
    world.clock.advance(60 * DAY - timedelta(seconds=1))
    assert (await world.retain()).report.tallies["snapshots"] == Tally(retained=1)
    world.clock.advance(timedelta(seconds=1))
    assert (await world.retain()).report.tallies["snapshots"] == Tally(removed=1)
    assert await world.names(ItemKind.SNAPSHOTS) == []


async def test_a_snapshot_is_kept_until_its_replay_has_finished() -> None:
    world = RetentionWorld()
    job = await world.store("s1")
    world.clock.advance(400 * DAY)
    assert (await world.retain()).report.tallies["snapshots"] == Tally(blocked=1)
    assert (await world.replay(job, models=None)).status is ReplayStatus.SUCCEEDED
    assert (await world.retain()).report.tallies["snapshots"] == Tally(removed=1)


async def test_a_deleted_snapshot_can_be_submitted_again() -> None:
    world = RetentionWorld()
    await world.converse("s1")
    world.clock.advance(200 * DAY)
    await world.retain()
    assert await world.names(ItemKind.REPLAYS) == []
    job = await world.store("s1")
    assert (await world.replay(job, models=None)).status is ReplayStatus.SUCCEEDED


@pytest.mark.parametrize("call", ["records.read", "records.delete", "records.list"])
@pytest.mark.parametrize("number", [1, 3, 5])
async def test_a_failed_replay_submitted_again_meanwhile_runs(call: Any, number: Any) -> None:
    world = RetentionWorld()
    job = await world.store("s1")
    await fail(world, job)
    world.clock.advance(61 * DAY)
    between = Between(call, lambda: world.store("s1"), number)
    await world.retain(**world.retention_ports(between))
    if between.count < number:
        await world.store("s1")
    assert await status(world, job) is ReplayStatus.QUEUED
    assert await world.marked() == [job]
    assert (await world.replay(job, models=None)).status is ReplayStatus.SUCCEEDED


@pytest.mark.parametrize("number", [1, 6, 11])
async def test_retention_between_the_steps_of_a_submission_loses_nothing(number: Any) -> None:
    world = RetentionWorld()
    job = await world.store("s1")
    await fail(world, job)
    world.clock.advance(61 * DAY)
    calls = 0
    records: Any = world.records
    inner_read, inner_write = records.read, records.write

    async def before(inner: Any, *arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == number:
            records.read, records.write = inner_read, inner_write
            await world.retain()
        return await inner(*arguments, **named)

    records.read = lambda *a, **n: before(inner_read, *a, **n)
    records.write = lambda *a, **n: before(inner_write, *a, **n)
    again = await world.store("s1")
    records.read, records.write = inner_read, inner_write
    assert again == job
    assert await status(world, job) is ReplayStatus.QUEUED
    assert (await world.replay(job, models=None)).status is ReplayStatus.SUCCEEDED


async def orphan(world: RetentionWorld) -> None:
    """The process that stored it ended before it wrote the replay's record."""
    records: Any = world.records
    write = records.write

    async def end_at_the_replay(key: Any, data: Any, **named: Any) -> Any:
        if key.kind is ItemKind.REPLAYS:
            raise StopsAt
        return await write(key, data, **named)

    records.write = end_at_the_replay
    with pytest.raises(StopsAt):
        await world.store("s1")
    records.write = write


async def test_a_snapshot_without_a_replay_gets_a_failed_one_and_expires() -> None:
    world = RetentionWorld()
    await orphan(world)
    world.clock.advance(400 * DAY)
    assert (await world.retain(dry_run=True)).report.tallies["snapshots"] == Tally(blocked=1)
    assert await world.names(ItemKind.REPLAYS) == []
    assert (await world.retain()).report.tallies["snapshots"] == Tally(blocked=1)
    world.clock.advance(59 * DAY)
    assert (await world.retain()).report.tallies["snapshots"] == Tally(retained=1)
    world.clock.advance(DAY)
    assert (await world.retain()).report.tallies["snapshots"] == Tally(removed=1)


async def test_a_repeated_submission_replays_a_snapshot_without_a_replay() -> None:
    world = RetentionWorld()
    await orphan(world)
    world.clock.advance(400 * DAY)
    await world.retain()
    job = await world.store("s1")
    assert (await world.replay(job, models=None)).status is ReplayStatus.SUCCEEDED


async def test_without_the_vault_a_snapshot_without_a_replay_is_blocked() -> None:
    world = RetentionWorld()
    await orphan(world)
    world.clock.advance(400 * DAY)
    keys: Any = world.keys
    keys.version = Watched("keys", keys, Fails("keys.version", VaultUnavailable())).version
    assert (await world.retain()).report.tallies["snapshots"] == Tally(blocked=1)
    assert await world.names(ItemKind.REPLAYS) == []


async def test_unreadable_items_are_kept_and_counted() -> None:
    world = RetentionWorld()
    await orphan(world)
    stored = await world.records.read(key_of("s1"))
    assert stored is not None
    await world.records.write(key_of("s1"), b"{}", replaces=stored.storage_etag)
    job = await world.store("s2")
    replay = await world.records.read(replay_key(SCOPE, job.job_id))
    assert replay is not None
    await world.records.write(replay_key(SCOPE, job.job_id), b"{}", replaces=replay.storage_etag)
    await world.records.write(ItemKey(SCOPE, ItemKind.CONFLICTS, "x"), b"{}", replaces=None)
    world.clock.advance(400 * DAY)
    applied = await world.retain()
    assert applied.report.unreadable == {"snapshots": 2, "replays": 1, "conflicts": 1}
    assert await world.names(ItemKind.SNAPSHOTS) == ["c1/s1", "c1/s2"]


async def test_a_concurrent_worker_finds_its_snapshot() -> None:
    world = RetentionWorld()
    job = await world.store("s1")
    world.clock.advance(400 * DAY)
    for call in ("records.read", "records.write", "events.create"):
        await replay_snapshot(job, service_of(**world.ports(Between(call, world.retain)) | {"models": None}))
    assert await status(world, job) is ReplayStatus.SUCCEEDED


@pytest.mark.parametrize("kind", ["snapshots", "jobs", "events", "audit"])
async def test_the_run_reports_when_the_first_of_what_stays_expires(kind: str) -> None:
    limits = Ceilings.model_validate({f"{kind}_max_days": 7})
    world = RetentionWorld(catalog=replace(CATALOG, ceilings=limits))
    await world.create_project()
    await world.converse("s1")
    await world.read_back("s1")
    await world.event("e1")
    began = world.clock.now()
    world.clock.advance(DAY)
    await world.change(ALPHA, put("/summary", "later"))
    report = (await world.retain()).report
    expires = began + timedelta(days=7)
    if kind == "audit":
        # Not before every writer has ended the month of the record.
        expires = max(expires, datetime(2026, 2, 1, tzinfo=UTC) + SKEW)
    assert (report.next_due, report.waiting) == (expires, False)
    await world.background.drain()
