"""Tracing, verifying, rolling back and decommissioning one unit of a migration."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from memnet.domain.core.errors import VaultUnavailable
from memnet.domain.core.scope import DocumentKey
from memnet.domain.documents import envelope
from memnet.operations.governance.migrations import Depth, read_migration_unit
from memnet.ports import StoredBlob
from tests.operations.migration_scenario import (
    ADMIN,
    AS_MADE,
    CONTENT,
    GLOBAL,
    OLDEST,
    SPLIT,
    TO_10,
    UNIT,
    Migrating,
)
from tests.operations.retention_scenario import FallsAt
from tests.operations.service_scenario import DYNAMIC, STATIC, CountingDocuments, Service
from tests.services import service_of


@pytest.fixture
async def world(service: Service) -> Migrating:
    return Migrating(service)


async def traced(world: Migrating, depth: Depth = Depth.FIRST) -> list[int | None]:
    """(first, newest) change of the second target, by sequence."""
    gathered = await read_migration_unit(
        UNIT, world.migration(), depth, service_of(documents=world.documents, audit=world.audit)
    )
    trace = gathered.targets[1].trace
    return [None if record is None else record["sequence"] for record in (trace.first, trace.newest)]


async def test_the_first_and_the_newest_change_are_found(world: Migrating) -> None:
    etag = await world.put()
    await world.run()
    assert await traced(world) == [1, 1]
    await world.put({**CONTENT, "preferences": ["Newer."]}, over=etag)
    await world.run()
    for number in range(8):
        await world.prefer(f"p{number}")
    assert await traced(world) == [1, 2]
    assert await traced(world, Depth.NEWEST) == [2, 2]
    assert await traced(world, Depth.NOTHING) == [None, None]


async def test_missing_records_end_the_trace(world: Migrating) -> None:
    await world.put({"profile": {}, "preferences": []})
    await world.run()
    for number in range(11):
        await world.prefer(f"p{number}")
    await world.service.background.drain()
    head = await world.head(DYNAMIC)
    world.service.audit.tamper(DYNAMIC.scope, head.change_id(1), None)
    assert await traced(world) == [None, None]


async def test_a_similar_note_is_not_the_migrations(world: Migrating) -> None:
    await world.service.replace(
        {"preferences": [], "durable_facts": [], "pending_confirmations": []},
        key=DYNAMIC,
        binding_id="user_dynamic",
        schema_id="memory.user.dynamic",
        note="migration of something else",
    )
    assert await traced(world) == [None, None]


async def test_a_decommissioned_source_is_distinguished_from_a_deleted_one(world: Migrating) -> None:
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
    head = await world.head(GLOBAL)
    world.service.audit.tamper(GLOBAL.scope, head.change_id(head.commit.sequence), None)
    stored = await world.documents.get(GLOBAL)
    assert stored is not None
    lost = replace(head, commit=replace(head.commit, outbox=()))
    await world.documents.put(GLOBAL, envelope.dump(lost), envelope.summarise(lost), replaces=stored.storage_etag)
    assert not await decommissioned()


async def test_created_targets_are_deleted_and_can_be_created_again(world: Migrating) -> None:
    etag = await world.put()
    await world.run()
    await world.put({**CONTENT, "preferences": ["Newer."]}, over=etag)
    before = await world.view(GLOBAL)
    await world.run()
    made = await world.content(DYNAMIC)
    back = await world.roll_back()
    assert (back.done, back.refused, back.postponed) == ([STATIC, DYNAMIC], [], False)
    assert await world.content(STATIC) is None
    assert await world.content(DYNAMIC) is None
    assert await world.view(GLOBAL) == before
    assert await world.actions() == ["create", "create"]
    assert await world.content(DYNAMIC) == made
    assert await world.verify() == AS_MADE
    await world.check_histories()


async def test_in_place_the_old_version_is_restored_byte_for_byte(world: Migrating) -> None:
    await world.put(OLDEST, version="0.8.0")
    await world.run(TO_10)
    await world.roll_back(TO_10)
    head = await world.head(GLOBAL)
    assert (head.schema_version, head.content, head.updated_by) == ("0.8.0", OLDEST, ADMIN.principal)
    record = await world.record(GLOBAL, 3)
    assert (record["reason"], record["note"]) == ("admin_migration", f"rollback of migration {TO_10}")
    assert record["evidence"]["restores"] == head.change_id(1)
    assert (record["profile_id"], record["binding_id"]) == ("legacy-v1", "global")
    assert await world.actions(TO_10) == ["replace"]
    await world.check_histories()


async def test_nothing_is_rolled_back_if_others_have_changed_a_target(world: Migrating) -> None:
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


async def test_force_restores_a_document_deleted_since(world: Migrating) -> None:
    await world.put(OLDEST, version="0.8.0")
    await world.run(TO_10)
    await world.service.delete(over=(await world.head(GLOBAL)).commit.etag, key=GLOBAL)
    assert (await world.roll_back(TO_10, force=True)).done == [GLOBAL]
    assert await world.content(GLOBAL) == OLDEST


async def test_a_decommissioned_source_is_restored_first(world: Migrating) -> None:
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


async def test_a_verified_source_is_deleted(world: Migrating) -> None:
    await world.put()
    await world.run()
    await world.prefer("Use tables.")
    ended = await world.decommission()
    assert (ended.done, ended.differences, ended.postponed) == ([GLOBAL], (), False)
    assert await world.content(GLOBAL) is None
    assert (await world.record(GLOBAL, 2))["note"] == f"decommission by migration {SPLIT}"
    assert await world.verify() == [(STATIC.path, None, False), (DYNAMIC.path, None, True)]
    assert await world.actions() == []
    await world.check_histories()


async def test_a_difference_prevents_the_decommission(world: Migrating) -> None:
    etag = await world.put()
    assert await world.verify() == [(STATIC.path, "is missing", False), (DYNAMIC.path, "is missing", False)]
    assert [v.key for v in (await world.decommission()).differences] == [STATIC, DYNAMIC]
    await world.run()
    await world.put({**CONTENT, "preferences": ["Newer."]}, over=etag)
    assert [v.key for v in (await world.decommission()).differences] == [DYNAMIC]
    assert await world.content(GLOBAL) is not None


async def test_a_migration_in_place_has_nothing_to_decommission(world: Migrating) -> None:
    await world.put(OLDEST, version="0.8.0")
    await world.run(TO_10)
    assert (await world.decommission(TO_10)).done == []
    assert await world.content(GLOBAL) is not None


class Late(CountingDocuments):
    """Lets the source change after the n-th time it was read."""

    reads = 0
    world: Migrating
    at = 0

    async def get(self, key: DocumentKey) -> StoredBlob | None:
        found = await super().get(key)
        if key == GLOBAL and self.at:
            self.reads += 1
            if self.reads == self.at:
                self.at = 0
                await self.world.prefer("Newer.", GLOBAL)
        return found


@pytest.mark.parametrize("at", [1, 2])
async def test_a_source_that_changes_while_it_is_verified_is_not_deleted(at: int) -> None:
    documents = Late()
    world = Migrating(Service(documents=documents))
    documents.world = world
    await world.put({"profile": {}, "preferences": []})
    await world.run()
    documents.at = at
    ended = await world.decommission()
    assert (ended.done, [v.key for v in ended.differences]) == ([], [DYNAMIC])
    assert (await world.content(GLOBAL))["preferences"] == ["Newer."]


async def test_audited_changes_since_are_accepted(world: Migrating) -> None:
    await world.put()
    await world.run()
    await world.prefer("Use tables.")
    await world.service.delete(over=(await world.head(STATIC)).commit.etag, key=STATIC)
    assert await world.verify() == [(STATIC.path, None, True), (DYNAMIC.path, None, True)]


async def test_a_source_changed_since_is_a_difference(world: Migrating) -> None:
    await world.put({"profile": {}, "preferences": ["Be brief."]})
    await world.run()
    await world.prefer("More.", GLOBAL)
    assert await world.verify() == [
        (STATIC.path, None, False),
        (DYNAMIC.path, "its source was changed since it was migrated", False),
    ]


async def test_a_target_created_by_others_is_a_difference(world: Migrating) -> None:
    await world.put({"profile": {}, "preferences": ["Be brief."]})
    await world.service.patch(
        {"op": "add", "path": "/content/preferences/-", "value": "Mine."}, key=DYNAMIC, binding_id="user_dynamic"
    )
    assert (DYNAMIC.path, "was not made by the migration", False) in await world.verify()


async def test_a_change_without_a_record_is_a_difference(world: Migrating) -> None:
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


async def test_another_result_of_the_migration_is_a_difference(world: Migrating) -> None:
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


async def test_an_unavailable_vault_is_not_a_difference(world: Migrating) -> None:
    etag = await world.put()
    await world.run()
    await world.service.delete(over=etag, key=GLOBAL)
    await world.service.background.drain()
    service = world.service
    service.audit.vault = replace(service.vault, cache=None)
    tenant_keys: Any = service.tenant_keys
    version = tenant_keys.version

    async def verified(watch: FallsAt) -> Any:
        tenant_keys.version = lambda *given: watch("version", lambda: version(*given))
        return await world.verify()

    counter = FallsAt(0, applied=False)
    assert await verified(counter) == AS_MADE
    assert len(counter.calls) > 3
    for number in range(1, len(counter.calls) + 1):
        with pytest.raises(VaultUnavailable):
            await verified(FallsAt(number, applied=False, error=VaultUnavailable))


async def test_in_place_the_version_before_is_rebuilt(world: Migrating) -> None:
    await world.put(OLDEST, version="0.8.0")
    assert await world.verify(TO_10) == [(GLOBAL.path, "is not migrated", False)]
    await world.run(TO_10)
    assert await world.verify(TO_10) == [(GLOBAL.path, None, False)]
    await world.prefer("More.", GLOBAL)
    assert await world.verify(TO_10) == [(GLOBAL.path, None, True)]


async def test_a_document_of_the_new_version_needs_no_migration(world: Migrating) -> None:
    await world.put(CONTENT)
    assert await world.verify(TO_10) == [(GLOBAL.path, None, False)]
