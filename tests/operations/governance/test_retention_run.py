"""Runs of retention: deletions in batches and never under a hold, over one user or all."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from memnet.domain.catalog.retention_policy import Limits, RetentionPolicy, Tally
from memnet.domain.core.errors import HistoryCorrupt, InvalidIdentifier, MalformedRequest, Unavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.core.user_item import ItemKey, ItemKind, dated_key
from memnet.domain.governance.legal_hold import HoldKey, HoldTarget
from memnet.operations.governance.retention import RetentionsReport, apply_retention, apply_retentions
from memnet.operations.governance.retention_items import BATCH, RetentionRun, delete_expired
from memnet.stores import HoldStore
from tests.domain.event_samples import stored_event
from tests.memory_blobs import memory_blobs
from tests.operations.hold_scenario import HoldWorld
from tests.operations.retention_scenario import ALPHA, DAY, SCOPE, Between, RetentionWorld, StopsAt, put
from tests.services import arguments, service_of


def a_run(holds: HoldStore, *, dry_run: bool = False) -> RetentionRun:
    world = HoldWorld()
    return RetentionRun(
        SCOPE, RetentionPolicy({}, Limits()), world.clock.now(), dry_run, service_of(holds=holds, clock=world.clock)
    )


async def all_of(batch: Sequence[int], _: datetime) -> Sequence[int]:
    return batch


async def test_items_are_deleted_in_batches_and_the_rest_deferred() -> None:
    seen: list[int] = []

    async def even(batch: Sequence[int], _: datetime) -> Sequence[int]:
        seen.append(len(batch))
        return [number for number in batch if number % 2 == 0]

    tally = Tally()
    gone = await delete_expired(range(2 * BATCH + 2), even, tally, run=a_run(HoldStore(memory_blobs())))
    assert seen == [BATCH, BATCH, 2]
    assert gone == list(range(0, 2 * BATCH + 2, 2))
    assert tally == Tally(removed=BATCH + 1, deferred=BATCH + 1)


@pytest.mark.parametrize("dry_run", [False, True])
async def test_holds_are_read_before_every_batch(dry_run: Any) -> None:
    world, tally = HoldWorld(), Tally()

    async def place(batch: Sequence[int], _: datetime) -> Sequence[int]:
        await world.place("meanwhile")
        return batch

    if dry_run:
        await world.place("before")
    gone = await delete_expired(range(BATCH + 5), place, tally, run=a_run(world.holds, dry_run=dry_run))
    held = BATCH + 5 if dry_run else 5
    assert (len(gone), tally) == (BATCH + 5 - held, Tally(removed=BATCH + 5 - held, on_hold=held))


async def test_an_unreadable_hold_stops_every_deletion() -> None:
    holds = HoldStore(memory_blobs())
    await holds.create(HoldKey(HoldTarget("t1"), 1), b"?")
    with pytest.raises(HistoryCorrupt):
        await delete_expired([1], all_of, Tally(), run=a_run(holds))


async def test_every_deletion_is_dated_before_the_holds_are_read() -> None:
    world = RetentionWorld()
    await world.create_project()
    await world.change(ALPHA, put("/summary", "second"))
    await world.sweep()
    await interrupted(world)
    await world.converse("s1")
    await world.read_back("s1")
    await world.event("evt-1")
    run = dated_key(SCOPE, ItemKind.IMPORTS, world.clock.now(), "run-1")
    await world.records.write(run, b"{}", replaces=None)
    world.clock.advance(400 * DAY)

    calls, looks, removed = 0, list[datetime](), set[str]()

    async def watch(name: str, call: Any) -> Any:
        nonlocal calls
        if name == "holds.list":
            # One look asks about two places, the user and the tenant.
            if calls % 2 == 0:
                looks.append(world.clock.now())
                world.clock.advance(timedelta(minutes=1))
            calls += 1
        return await call()

    def dated(store: Any, name: str) -> None:
        inner = getattr(store, name)

        async def delete(*given: Any, known_at: datetime | None = None, **named: Any) -> Any:
            assert known_at == looks[-1]
            kind = given[0].kind.value if isinstance(given[0], ItemKey) else type(store).__name__
            kind += " baseline" if named.get("baseline") else ""
            removed.add(f"{kind}.{name}")
            return await inner(*given, known_at=known_at, **named)

        setattr(store, name, delete)

    for store in (world.audit, world.records, world.events):
        dated(store, "delete")
    await apply_retention(SCOPE, service_of(**world.retention_ports(watch)), as_of=None, dry_run=False)
    assert removed == {
        "AuditLog.delete",
        "AuditLog baseline.delete",
        "EventStore.delete",
        *(f"{kind}.delete" for kind in ("accesses", "imports", "replays", "snapshots")),
    }


async def interrupted(world: RetentionWorld) -> None:
    """A run that has put a baseline in place and ended there."""

    async def end() -> None:
        raise StopsAt

    world.clock.advance(366 * DAY)
    try:
        await world.retain(**world.retention_ports(Between("audit.delete", end)))
    except StopsAt:
        await world.change(ALPHA, put("/summary", "third"))
        await world.sweep()


OTHERS = [UserScope("t1", "u2"), UserScope("t1", "u3"), UserScope("t2", "u1")]


async def aged() -> RetentionWorld:
    """Create four users in two tenants, each with an expired event."""
    world = RetentionWorld()
    for scope in (SCOPE, *OTHERS):
        stored = stored_event("old", scope=scope, timestamp=world.clock.now().isoformat())
        await world.events.create(stored.key, stored.data)
    world.clock.advance(400 * DAY)
    return world


async def apply(world: RetentionWorld, tenant_id: str | None, **members: Any) -> RetentionsReport:
    chosen = {"as_of": None, "dry_run": False, "users": world.users()}
    return await apply_retentions(tenant_id, **arguments(**world.retention_ports() | chosen | members))


async def left(world: RetentionWorld) -> list[UserScope]:
    return [key.scope for key in (await world.events.list(None, limit=100, cursor=None)).items]


async def test_it_runs_for_one_tenant_or_all(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await aged()
    dry = await apply(world, "t1", dry_run=True)
    assert (dry.users, dry.report.tallies["events"].removed, len(await left(world))) == (3, 3, 4)
    found = await apply(world, "t1")
    assert (found.users, found.report.tallies["events"].removed) == (3, 3)
    assert await left(world) == [UserScope("t2", "u1")]
    assert (await apply(world, None)).users == 1
    assert await left(world) == []


async def test_a_failing_user_is_counted_and_the_others_continue() -> None:
    world = await aged()
    events: Any = world.events
    delete = events.delete

    async def fails(key: Any, **named: Any) -> None:
        if key.scope == SCOPE:
            raise Unavailable()
        await delete(key, **named)

    events.delete = fails
    found = await apply(world, None)
    assert (found.users, found.failed, found.report.tallies["events"].removed) == (4, 1, 3)
    assert await left(world) == [SCOPE]
    events.delete = delete
    assert (await apply(world, None)).failed == 0
    assert await left(world) == []


async def test_users_on_hold_are_counted() -> None:
    world = await aged()
    await world.hold()
    found = await apply(world, None)
    assert (found.on_hold, found.report.tallies["events"].on_hold, found.report.tallies["events"].removed) == (1, 1, 3)


async def test_each_tenant_has_its_own_limits() -> None:
    world = await aged()
    tenants = {"t2": world.catalog.ceilings.model_copy(update={"events_min_days": 500, "events_max_days": 500})}
    limits = world.catalog.ceilings.model_copy(update={"tenants": tenants})
    world.catalog = replace(world.catalog, ceilings=limits)
    await apply(world, None)
    assert await left(world) == [UserScope("t2", "u1")]


async def test_invalid_arguments_are_refused() -> None:
    world = await aged()
    with pytest.raises(InvalidIdentifier):
        await apply(world, "../t1")
    with pytest.raises(MalformedRequest):
        await apply(world, None, as_of=world.clock.now() + DAY)
