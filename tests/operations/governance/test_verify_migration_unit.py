"""What verification finds, and what it lets pass."""

from dataclasses import replace

import orjson
import pytest

from memnet.domain.core.errors import VaultUnavailable
from memnet.domain.documents import envelope
from memnet.ports import TenantKey
from tests.operations.migration_scenario import AS_MADE, CONTENT, GLOBAL, OLDEST, SPLIT, TO_09, TO_10, Migrating
from tests.operations.service_scenario import DYNAMIC, STATIC, Service


@pytest.fixture
async def world(service: Service) -> Migrating:
    return Migrating(service)


async def test_what_was_made_is_as_made(world: Migrating) -> None:
    await world.put()
    await world.run()
    assert await world.verify() == AS_MADE


async def test_what_was_not_made_is_missing(world: Migrating) -> None:
    await world.put()
    assert await world.verify() == [(STATIC.path, "is missing", False), (DYNAMIC.path, "is missing", False)]


async def test_without_a_source_there_is_nothing_to_say(world: Migrating) -> None:
    assert await world.verify() == []


async def test_audited_changes_since_pass(world: Migrating) -> None:
    await world.put()
    await world.run()
    await world.prefer("Use tables.")
    await world.service.delete(over=(await world.head(STATIC)).commit.etag, key=STATIC)
    assert await world.verify() == [(STATIC.path, None, True), (DYNAMIC.path, None, True)]


async def test_a_source_that_changed_since_is_told(world: Migrating) -> None:
    await world.put({"profile": {}, "preferences": ["Be brief."]})
    await world.run()
    await world.prefer("More.", GLOBAL)
    assert await world.verify() == [
        (STATIC.path, None, False),
        (DYNAMIC.path, "its source was changed since it was migrated", False),
    ]


async def test_a_target_that_somebody_else_created_is_told(world: Migrating) -> None:
    await world.put({"profile": {}, "preferences": ["Be brief."]})
    await world.service.patch(
        {"op": "add", "path": "/content/preferences/-", "value": "Mine."}, key=DYNAMIC, binding_id="user_dynamic"
    )
    assert (DYNAMIC.path, "was not made by the migration", False) in await world.verify()


async def test_a_change_past_the_records_is_told(world: Migrating) -> None:
    await world.put()
    await world.run()
    stored = await world.service.documents.get(DYNAMIC)
    assert stored is not None
    members = orjson.loads(stored.data)
    members["content"]["preferences"] = ["Forged."]
    forged = envelope.load(orjson.dumps(members))
    await world.service.documents.put(
        DYNAMIC, envelope.dump(forged), envelope.summarise(forged), replaces=stored.storage_etag
    )
    static, (_, difference, _) = await world.verify()
    assert static == AS_MADE[0]
    assert difference is not None
    assert difference.startswith("its history is broken")


async def test_what_was_made_otherwise_is_told(world: Migrating) -> None:
    """As if the definition had been changed after the run."""
    await world.put()
    await world.run()
    changed = world.migration().model_dump()
    changed["targets"][1]["steps"] = [*changed["targets"][1]["steps"][:2]]
    migration = type(world.migration()).model_validate_json(orjson.dumps(changed))
    world.catalog = type(world.catalog)(world.catalog.profiles, world.catalog.schemas, {}, {SPLIT: migration})
    assert (DYNAMIC.path, "is not what the migration makes of its source", False) in await world.verify()


async def test_after_a_decommission_the_source_is_rebuilt(world: Migrating) -> None:
    etag = await world.put()
    await world.run()
    await world.service.delete(over=etag, key=GLOBAL)
    assert await world.verify() == AS_MADE
    await world.service.background.drain()
    world.service.audit.tamper(GLOBAL.scope, (await world.head(GLOBAL)).change_id(1), b"{}")
    found = await world.verify()
    assert all("HISTORY_CORRUPT" in (difference or "") for _, difference, _ in found)


async def test_a_vault_that_is_down_is_no_difference(world: Migrating) -> None:
    etag = await world.put()
    await world.run()
    await world.service.delete(over=etag, key=GLOBAL)
    await world.service.background.drain()
    service = world.service
    service.audit.vault = replace(service.vault, cache=None)
    version, asked = service.tenant_keys.version, 0

    async def down_from(number: int) -> None:
        nonlocal asked
        asked = 0

        async def answer(tenant_id: str, name: str) -> TenantKey:
            nonlocal asked
            asked += 1
            if asked >= number:
                raise VaultUnavailable()
            return await version(tenant_id, name)

        service.tenant_keys.version = answer  # type: ignore[method-assign]
        assert await world.verify() == AS_MADE

    await down_from(1_000)
    assert asked > 3
    for number in range(1, asked + 1):
        with pytest.raises(VaultUnavailable):
            await down_from(number)


async def test_in_place_the_version_before_is_rebuilt(world: Migrating) -> None:
    await world.put(OLDEST, version="0.8.0")
    assert await world.verify(TO_10) == [(GLOBAL.path, "is not migrated", False)]
    await world.run(TO_10)
    assert await world.verify(TO_10) == [(GLOBAL.path, None, False)]
    await world.prefer("More.", GLOBAL)
    assert await world.verify(TO_10) == [(GLOBAL.path, None, True)]


async def test_what_has_gone_past_a_version_is_no_difference(world: Migrating) -> None:
    await world.put(OLDEST, version="0.8.0")
    await world.run(TO_10)
    assert await world.verify(TO_09) == [(GLOBAL.path, None, False)]


async def test_a_document_of_the_new_version_needs_no_migration(world: Migrating) -> None:
    await world.put(CONTENT)
    assert await world.verify(TO_10) == [(GLOBAL.path, None, False)]
