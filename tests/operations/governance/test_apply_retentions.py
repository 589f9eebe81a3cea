"""All users of a tenant, or of all: one that fails does not stop the others."""

from dataclasses import replace
from typing import Any

import pytest

from memnet.domain.core.errors import InvalidIdentifier, MalformedRequest, Unavailable
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.operations.governance.retention import RetentionsReport, apply_retentions
from tests.domain.event_samples import stored_event
from tests.memory_blobs import storage_of
from tests.operations.replay_scenario import PROFILE
from tests.operations.retention_scenario import DAY, SCOPE, RetentionWorld
from tests.services import arguments

OTHERS = [UserScope("t1", "u2"), UserScope("t1", "u3"), UserScope("t2", "u1")]


async def aged() -> RetentionWorld:
    """Four users in two tenants, each with an event that is over."""
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


async def test_of_one_tenant_or_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(apply_retentions.__globals__, "PAGE", 1)
    world = await aged()
    dry = await apply(world, "t1", dry_run=True)
    assert (dry.users, dry.report.tallies["events"].removed, len(await left(world))) == (3, 3, 4)
    found = await apply(world, "t1")
    assert (found.users, found.report.tallies["events"].removed) == (3, 3)
    assert await left(world) == [UserScope("t2", "u1")]
    assert (await apply(world, None)).users == 1
    assert await left(world) == []


async def test_one_that_fails_is_counted_and_the_others_go_on() -> None:
    world = await aged()
    delete = world.events.delete

    async def fails(key: Any, **named: Any) -> None:
        if key.scope == SCOPE:
            raise Unavailable()
        await delete(key, **named)

    world.events.delete = fails
    found = await apply(world, None)
    assert (found.users, found.failed, found.report.tallies["events"].removed) == (4, 1, 3)
    assert await left(world) == [SCOPE]
    world.events.delete = delete
    assert (await apply(world, None)).failed == 0
    assert await left(world) == []


async def test_those_under_a_hold_are_counted() -> None:
    world = await aged()
    await world.hold()
    found = await apply(world, None)
    assert (found.on_hold, found.report.tallies["events"].on_hold, found.report.tallies["events"].removed) == (1, 1, 3)


async def test_each_tenant_goes_by_its_own_limits() -> None:
    world = await aged()
    tenants = {"t2": world.catalog.ceilings.model_copy(update={"events_min_days": 500, "events_max_days": 500})}
    limits = world.catalog.ceilings.model_copy(update={"tenants": tenants})
    world.catalog = replace(world.catalog, ceilings=limits)
    await apply(world, None)
    assert await left(world) == [UserScope("t2", "u1")]


async def test_what_is_asked_wrongly_is_refused() -> None:
    world = await aged()
    with pytest.raises(InvalidIdentifier):
        await apply(world, "../t1")
    with pytest.raises(MalformedRequest):
        await apply(world, None, as_of=world.clock.now() + DAY)


async def test_a_user_with_documents_alone_is_found() -> None:
    world = RetentionWorld()
    await world.create_project()
    assert DocumentKey(SCOPE, "projects", "alpha.json").blob_name in storage_of(world.documents).names()
    assert (await apply(world, None)).users == 1
    assert PROFILE in world.catalog.profiles
