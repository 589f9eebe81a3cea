"""Retractions, their plans and their copies expire."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memnet.domain.catalog.profile import RetentionRules
from memnet.domain.catalog.retention_policy import Tally
from memnet.domain.core.errors import RetractionNotFound
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.governance.legal_hold import HoldTarget
from memnet.domain.governance.retraction import Retraction, RetractionStatus
from memnet.operations.governance.legal_holds import place_hold, release_hold
from memnet.operations.governance.retention import apply_retention
from memnet.operations.governance.retractions import get_retraction, plan_retraction, undo_retraction
from memnet.operations.replay.closed_sources import read_closed_sources
from tests.operations.turn_search_scenario import ONE, SEARCHABLE, SPOKEN, catalog_of
from tests.operations.withdrawn_scenario import ADMIN, POISONED, WithdrawnWorld

HELD = HoldTarget(ONE.tenant_id, ONE.user_id)


@pytest.fixture
async def world() -> WithdrawnWorld:
    """The profiles keep snapshots for 60 days, events for 365, and jobs for 100."""
    body: dict[str, Any] = {"snapshots_days": 60, "events_days": 365, "audit_days": 365, "jobs_days": 100}
    catalog = catalog_of(**{SPOKEN: SEARCHABLE})
    rules = RetentionRules.model_validate(body)
    profiles = {
        name: profile.model_copy(update={"retention_rules": rules}) for name, profile in catalog.profiles.items()
    }
    world = WithdrawnWorld(catalog=replace(catalog, profiles=profiles))
    await world.fill()
    return world


async def retained(world: WithdrawnWorld, kind: str, *, dry_run: bool = False) -> Tally:
    return (await apply_retention(ONE, world.service, as_of=None, dry_run=dry_run)).report.tallies[kind]


async def applied(world: WithdrawnWorld) -> Retraction:
    retraction = await world.retract()
    await world.run_jobs()
    return (await get_retraction(ONE, retraction.retraction_id, world.service)).retraction


async def kinds(world: WithdrawnWorld) -> list[str]:
    return sorted(name.split("/")[1] for name in await world.copies() if name != "sources")


async def test_a_copy_goes_when_the_item_would_have_expired(world: WithdrawnWorld) -> None:
    await applied(world)
    assert await kinds(world) == ["conflict", "event", "replay", "snapshot"]
    world.clock.advance(timedelta(days=59))
    assert (await retained(world, "withdrawn")).removed == 0
    world.clock.advance(timedelta(days=2))
    for dry_run in (True, False):
        assert (await retained(world, "withdrawn", dry_run=dry_run)).removed == 1
    assert await kinds(world) == ["conflict", "event", "replay"]


async def test_the_plan_goes_with_all_copies_and_the_source_stays_closed(world: WithdrawnWorld) -> None:
    retraction = await applied(world)
    world.clock.advance(timedelta(days=99))
    assert (await retained(world, "retractions")).retained == 1
    world.clock.advance(timedelta(days=2))
    await place_hold(HELD, "A case.", world.service, actor=ADMIN)
    assert (await retained(world, "retractions")).on_hold == 1
    assert "event" in await kinds(world)
    await release_hold(HELD, "It is over.", world.service, actor=ADMIN)
    assert (await retained(world, "retractions")).removed == 1
    assert await kinds(world) == []
    for _ in range(2):
        assert (await retained(world, "retractions")).retained == 1
    view = await get_retraction(ONE, retraction.retraction_id, world.service)
    assert (view.retraction.status, list(view.plan.documents)) == (RetractionStatus.APPLIED, [])
    assert [one.retraction_id for one in await read_closed_sources(ONE, world.service.records)] == [
        retraction.retraction_id
    ]
    # An undo still opens the source; then the record expires, too.
    await undo_retraction(ONE, retraction.retraction_id, world.service, actor=ADMIN)
    await world.run_jobs()
    await world.say("c1", "s2")
    world.clock.advance(timedelta(days=101))
    assert (await retained(world, "retractions")).removed == 1
    with pytest.raises(RetractionNotFound):
        await get_retraction(ONE, retraction.retraction_id, world.service)


async def test_what_was_only_planned_goes_and_what_is_half_done_stays(world: WithdrawnWorld) -> None:
    await plan_retraction(ONE, POISONED, "A try.", world.service, actor=ADMIN, idempotency_key="k0")
    await world.retract()
    world.clock.advance(timedelta(days=101))
    tally = await retained(world, "retractions")
    assert (tally.removed, tally.blocked) == (1, 1)
    await world.run_jobs()
    assert await world.marked_jobs() == []


async def test_copies_of_a_retraction_that_cannot_be_read_stay(world: WithdrawnWorld) -> None:
    retraction = await applied(world)
    key = ItemKey(ONE, ItemKind.RETRACTIONS, retraction.retraction_id)
    stored = await world.service.records.read(key)
    assert stored is not None
    await world.service.records.write(key, b"{}", replaces=stored.storage_etag)
    before = await kinds(world)
    report = (await apply_retention(ONE, world.service, as_of=None, dry_run=False)).report
    assert report.unreadable["retractions"] == 1
    assert await kinds(world) == before
