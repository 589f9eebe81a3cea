"""The upkeep of one user: what follows from changes, and what is due."""

import logging
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memnet.domain.catalog.retention_policy import Ceilings
from memnet.domain.core.access import Role
from memnet.domain.core.errors import DecryptionFailed, ErasureRunning, TenantEnded
from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.core.user_item import ItemKind
from memnet.domain.events.event import Event, EventKey
from memnet.domain.governance.legal_hold import HoldTarget
from memnet.domain.governance.tenant_erasure import ended_name
from memnet.domain.upkeep.marks import Work, due_mark
from memnet.operations.events.write_event import write_event
from memnet.operations.governance.legal_holds import place_hold, release_hold
from memnet.operations.service.tend_users import BROKEN, POSTPONED, apply_due, tend_user
from tests.domain.samples import CATALOG
from tests.operations.upkeep_marks_scenario import DAY, READY, UpkeepWorld

ONE = UserScope("t1", "u1")
ADMIN = Actor("svc-privacy", frozenset({Role.ADMIN}))
LIMITS = Ceilings(events_max_days=30, audit_max_days=30, jobs_max_days=30, snapshots_max_days=30)


@pytest.fixture
def world() -> UpkeepWorld:
    return UpkeepWorld(replace(CATALOG, ceilings=LIMITS))


async def event(world: UpkeepWorld, event_id: str, at: str) -> None:
    body = {"event_id": event_id, "service_id": "svc-chat", "timestamp": at, "source_type": "chat", "digest": "x"}
    await write_event(ONE, Event.model_validate(body), world.service)
    await world.drain()


def next_look(world: UpkeepWorld, days: int) -> str:
    return due_mark(ONE, world.clock.now() + timedelta(days=days)).blob_name


async def test_a_changed_user_gets_a_checkpoint_and_a_look_tomorrow(world: UpkeepWorld) -> None:
    await world.patch(ONE)
    counts = await tend_user(ONE, world.service)
    assert counts["signed"] == 1
    assert world.due() == [next_look(world, 1)]
    assert len(world.stored.names(f"{ONE.prefix}{ItemKind.HEADS}/")) == 1
    assert (await tend_user(ONE, world.service))["unchanged"] == 1


async def test_the_records_that_a_crashed_writer_left_are_copied(world: UpkeepWorld) -> None:
    await world.patch(ONE)
    [name] = world.stored.names(f"{ONE.prefix}audit/")
    world.stored.drop(name)
    world.service.audit._flushed.clear()
    await tend_user(ONE, world.service)
    assert list(world.stored.names(f"{ONE.prefix}audit/")) == [name]


async def test_only_the_documents_that_changed_since_the_mark_are_looked_at(world: UpkeepWorld) -> None:
    await world.patch(ONE)
    world.clock.advance(READY)
    await world.run(Work.CHANGED)
    [alpha] = world.stored.names(f"{ONE.prefix}audit/")
    await world.patch(ONE, path="beta.json")
    [beta] = set(world.stored.names(f"{ONE.prefix}audit/")) - {alpha}
    for name in (alpha, beta):
        world.stored.drop(name)
    world.service.audit._flushed.clear()
    world.clock.advance(READY)
    await world.run(Work.CHANGED)
    assert list(world.stored.names(f"{ONE.prefix}audit/")) == [beta]
    await apply_due(ONE, world.service)
    assert set(world.stored.names(f"{ONE.prefix}audit/")) == {alpha, beta}


async def test_its_documents_are_compacted(world: UpkeepWorld) -> None:
    await world.patch(ONE)
    ops = [{"op": "replace", "path": "/content/recent_notes", "value": ["a", "b", "a"]}]
    await world.patch(ONE, ops=ops)
    assert (await tend_user(ONE, world.service))["changed"] == 1
    assert (await tend_user(ONE, world.service))["changed"] == 0


async def test_a_user_without_data_is_left_without_a_trace(world: UpkeepWorld) -> None:
    assert await tend_user(ONE, world.service) == {}
    assert world.stored.names() == []


async def test_a_damaged_history_is_reported_and_nothing_is_signed(
    world: UpkeepWorld, caplog: pytest.LogCaptureFixture
) -> None:
    await world.patch(ONE)
    await tend_user(ONE, world.service)
    world.stored.drop(f"{ONE.prefix}documents/projects/alpha.json")
    assert (await tend_user(ONE, world.service))[BROKEN] == 1
    assert "history_verification_failed" in caplog.text


class NoKey:
    async def newest(self) -> Any:
        raise DecryptionFailed


async def test_without_a_signing_key_retention_continues_and_the_checkpoint_follows(world: UpkeepWorld) -> None:
    await world.patch(ONE)
    await event(world, "e1", "2025-01-01T00:00:00Z")
    signing: Any = NoKey()
    counts = await apply_due(ONE, replace(world.service, signing=signing))
    assert (counts["removed"], counts[POSTPONED]) == (1, 1)
    assert (await apply_due(ONE, world.service))["signed"] == 1


async def test_an_erasure_is_no_damage(world: UpkeepWorld, caplog: pytest.LogCaptureFixture) -> None:
    await world.patch(ONE)
    await tend_user(ONE, world.service)
    world.stored.drop(f"{ONE.prefix}documents/projects/alpha.json")
    await world.service.erasures.write(ONE, b"{}", replaces=None)
    for work in (tend_user, apply_due):
        with pytest.raises(ErasureRunning):
            await work(ONE, world.service)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_nothing_is_done_for_a_tenant_that_has_ended(world: UpkeepWorld) -> None:
    await world.patch(ONE)
    before = world.stored.names()
    world.stored.overwrite(ended_name("t1"), b"{}")
    for work in (tend_user, apply_due):
        with pytest.raises(TenantEnded):
            await work(ONE, world.service)
    assert set(world.stored.names()) - set(before) == {ended_name("t1")}


async def test_the_next_look_is_on_the_day_after_the_first_of_what_stays_expires(world: UpkeepWorld) -> None:
    await event(world, "e1", "2025-12-20T12:00:00Z")
    await event(world, "e2", "2025-12-25T12:00:00Z")
    assert (await apply_due(ONE, world.service))["removed"] == 0
    # 30 days after the 20th is the 19th; on the 20th of January it has expired, whatever the hour.
    assert world.due() == [due_mark(ONE, world.clock.now() + timedelta(days=19)).blob_name]
    world.clock.advance(timedelta(days=19))
    assert (await apply_due(ONE, world.service))["removed"] == 1
    assert world.due()[1:] == [next_look(world, 5)]
    world.clock.advance(timedelta(days=5))
    await apply_due(ONE, world.service)
    assert await world.service.events.get(EventKey(ONE, "e2")) is None


async def test_every_kind_brings_its_day(world: UpkeepWorld) -> None:
    first = await world.patch(ONE)
    await world.patch(ONE, "second")
    await apply_due(ONE, world.service)
    # The first record expires after 30 days, and its month ends after 31; the newest one stays.
    assert world.due() == [next_look(world, 32)]
    world.clock.advance(timedelta(days=32))
    # The record, and the baseline before the newest record, which has expired as well.
    assert (await apply_due(ONE, world.service))["removed"] == 2
    assert first.change_id not in "".join(world.stored.names(f"{ONE.prefix}audit/"))
    assert len(world.due()) == 1, "nothing is left that expires"


async def test_an_entry_brings_the_day_on_which_it_becomes_stale(world: UpkeepWorld) -> None:
    verified = world.clock.now() - timedelta(days=170)
    fact = {
        "id": "f1",
        "text": "Works from Utrecht.",
        "confidence": 0.9,
        "last_verified_at": verified.isoformat(),
        "evidence": {"conversation_id": "c1", "message_ids": ["m1"]},
    }
    await world.facts(ONE, fact)
    await apply_due(ONE, world.service)
    [rule] = [r for r in CATALOG.profile("project-copilot-v1").upkeep_rules["user_dynamic"] if r.stale_after_days]
    days = rule.stale_after_days or 0
    stale = days - 170
    assert world.due() == [next_look(world, stale + 1)]
    world.clock.advance(timedelta(days=stale + 1))
    assert (await apply_due(ONE, world.service))["changed"] == 1


async def test_under_a_hold_a_user_is_looked_at_daily_and_nothing_is_removed(world: UpkeepWorld) -> None:
    await event(world, "e1", "2025-01-01T00:00:00Z")
    target = HoldTarget("t1", "u1")
    await place_hold(target, "litigation", world.service, actor=ADMIN)
    assert +await apply_due(ONE, world.service) == {"on_hold": 1, "unchanged": 1}
    assert world.due() == [next_look(world, 1)]
    assert await world.service.events.get(EventKey(ONE, "e1")) is not None
    await release_hold(target, "settled", world.service, actor=ADMIN)
    world.clock.advance(DAY)
    assert (await apply_due(ONE, world.service))["removed"] == 1
    assert len(world.due()) == 1
