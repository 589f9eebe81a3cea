"""Going back to the version before a migration."""

import pytest

from tests.operations.migration_scenario import ADMIN, AS_MADE, CONTENT, GLOBAL, OLDEST, SPLIT, TO_10, Migrating
from tests.operations.service_scenario import DYNAMIC, STATIC, Service


@pytest.fixture
async def world(service: Service) -> Migrating:
    return Migrating(service)


async def test_what_was_not_there_is_deleted_and_can_be_made_again(world: Migrating) -> None:
    await world.put()
    before = await world.view(GLOBAL)
    await world.run()
    made = await world.content(DYNAMIC)
    back = await world.roll_back()
    assert (back.done, back.refused, back.postponed) == ([STATIC, DYNAMIC], [], False)
    assert await world.content(STATIC) is None
    assert await world.content(DYNAMIC) is None
    assert await world.view(GLOBAL) == before
    assert await world.standings() == ["create", "create"]
    assert await world.content(DYNAMIC) == made
    assert await world.verify() == AS_MADE
    await world.check_histories()


async def test_in_place_the_old_version_is_there_again_byte_for_byte(world: Migrating) -> None:
    await world.put(OLDEST, version="0.8.0")
    await world.run(TO_10)
    await world.roll_back(TO_10)
    head = await world.head(GLOBAL)
    assert (head.schema_version, head.content, head.updated_by) == ("0.8.0", OLDEST, ADMIN.principal)
    record = await world.record(GLOBAL, 3)
    assert (record["reason"], record["note"]) == ("admin_migration", f"rollback of migration {TO_10}")
    assert record["evidence"]["restores"] == head.change_id(1)
    assert (record["profile_id"], record["binding_id"]) == ("legacy-v1", "global")
    assert await world.standings(TO_10) == ["replace"]
    await world.check_histories()


async def test_a_second_rollback_does_nothing(world: Migrating) -> None:
    await world.put()
    await world.run()
    await world.roll_back()
    assert (await world.roll_back()).done == []


async def test_it_goes_back_behind_every_run_since(world: Migrating) -> None:
    etag = await world.put()
    await world.run()
    await world.put({**CONTENT, "preferences": ["Newer."]}, over=etag)
    await world.run()
    await world.roll_back()
    assert await world.content(DYNAMIC) is None


async def test_what_others_changed_since_stays_and_so_does_the_rest(world: Migrating) -> None:
    await world.put()
    await world.run()
    await world.prefer("Use tables.")
    back = await world.roll_back()
    assert (back.done, back.refused) == ([], [DYNAMIC])
    assert await world.content(STATIC) is not None


async def test_force_undoes_what_others_changed(world: Migrating) -> None:
    await world.put(OLDEST, version="0.8.0")
    await world.run(TO_10)
    await world.prefer("More.", GLOBAL)
    assert (await world.roll_back(TO_10)).refused == [GLOBAL]
    assert (await world.roll_back(TO_10, force=True)).done == [GLOBAL]
    assert await world.content(GLOBAL) == OLDEST


async def test_force_brings_back_what_was_deleted_since(world: Migrating) -> None:
    await world.put(OLDEST, version="0.8.0")
    await world.run(TO_10)
    await world.service.delete(over=(await world.head(GLOBAL)).commit.etag, key=GLOBAL)
    assert (await world.roll_back(TO_10, force=True)).done == [GLOBAL]
    assert await world.content(GLOBAL) == OLDEST


async def test_a_decommissioned_source_comes_back_first(world: Migrating) -> None:
    await world.put()
    await world.run()
    await world.decommission()
    assert await world.content(GLOBAL) is None
    assert (await world.roll_back(SPLIT)).done == [GLOBAL, STATIC, DYNAMIC]
    assert await world.content(GLOBAL) == CONTENT
    assert await world.content(STATIC) is None
    await world.check_histories()


async def test_a_source_that_somebody_else_deleted_stays_deleted(world: Migrating) -> None:
    etag = await world.put()
    await world.run()
    await world.service.delete(over=etag, key=GLOBAL)
    assert (await world.roll_back()).done == [STATIC, DYNAMIC]
    assert await world.content(GLOBAL) is None


async def test_what_was_never_migrated_is_left_alone(world: Migrating) -> None:
    await world.put()
    assert (await world.roll_back()).done == []
    assert await world.content(GLOBAL) == CONTENT
