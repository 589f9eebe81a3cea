"""What the documents of a unit and their records tell of a migration."""

from datetime import timedelta
from typing import Any

import pytest

from memnet.operations.documents.outbox import sweep_outboxes
from memnet.operations.governance.read_migration_unit import Depth, read_migration_unit
from tests.operations.migration_scenario import CONTENT, GLOBAL, UNIT, Migrating
from tests.operations.service_scenario import DYNAMIC, Service
from tests.services import service_of


@pytest.fixture
async def world(service: Service) -> Migrating:
    return Migrating(service)


async def traced(world: Migrating, depth: Depth = Depth.FIRST) -> tuple[Any, Any]:
    """(first, newest) change of the second target, by sequence."""
    gathered = await read_migration_unit(
        UNIT, world.migration(), depth, service_of(documents=world.documents, audit=world.audit)
    )
    trace = gathered.targets[1].trace
    return tuple(None if record is None else record["sequence"] for record in (trace.first, trace.newest))


async def test_nothing_is_traced_where_nothing_was_migrated(world: Migrating) -> None:
    assert await traced(world) == (None, None)
    await world.put()
    assert await traced(world) == (None, None)


async def test_the_first_and_the_newest_change_are_found(world: Migrating) -> None:
    etag = await world.put()
    await world.run()
    assert await traced(world) == (1, 1)
    await world.put({**CONTENT, "preferences": ["Newer."]}, over=etag)
    await world.run()
    for number in range(8):
        await world.prefer(f"p{number}")
    assert await traced(world) == (1, 2)
    assert await traced(world, Depth.NEWEST) == (2, 2)
    assert await traced(world, Depth.NOTHING) == (None, None)


async def test_a_rollback_ends_the_trace(world: Migrating) -> None:
    await world.put()
    await world.run()
    await world.roll_back()
    assert await traced(world) == (None, None)
    await world.run()
    assert await traced(world) == (3, 3)


async def test_records_that_are_gone_end_the_trace(world: Migrating) -> None:
    await world.put({"profile": {}, "preferences": []})
    await world.run()
    for number in range(11):
        await world.prefer(f"p{number}")
    await world.service.background.drain()
    head = await world.head(DYNAMIC)
    world.service.audit.tamper(DYNAMIC.scope, head.change_id(1), None)
    assert await traced(world) == (None, None)


async def test_another_s_note_is_not_the_migration_s(world: Migrating) -> None:
    await world.service.replace(
        {"preferences": [], "durable_facts": [], "pending_confirmations": []},
        key=DYNAMIC,
        binding_id="user_dynamic",
        schema_id="memory.user.dynamic",
        note="migration of something else",
    )
    assert await traced(world) == (None, None)


async def test_a_decommissioned_source_is_told_from_a_deleted_one(world: Migrating) -> None:
    async def decommissioned() -> bool:
        gathered = await read_migration_unit(
            UNIT, world.migration(), Depth.NOTHING, service_of(documents=world.documents, audit=world.audit)
        )
        return gathered.sources["global"].decommissioned

    etag = await world.put()
    assert not await decommissioned()
    await world.service.delete(over=etag, key=GLOBAL)
    assert not await decommissioned()
    await world.put()
    await world.run()
    await world.decommission()
    assert await decommissioned()
    await world.service.background.drain()
    service = world.service
    await sweep_outboxes(
        service_of(documents=service.documents, audit=service.audit, clock=service.clock), quiet=timedelta()
    )
    head = await world.head(GLOBAL)
    world.service.audit.tamper(GLOBAL.scope, head.change_id(head.commit.sequence), None)
    assert not await decommissioned()
