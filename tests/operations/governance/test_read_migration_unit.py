"""What the documents of a unit and their records tell of a migration."""

from datetime import timedelta
from typing import Any

import pytest

from memnet.domain.core.scope import DocumentKey
from memnet.operations.documents.outbox import sweep_outboxes
from memnet.operations.governance.migrations import Depth, read_migration_unit
from memnet.ports import StoredBlob
from tests.operations.migration_scenario import ADMIN, AS_MADE, CONTENT, GLOBAL, OLDEST, SPLIT, TO_10, UNIT, Migrating
from tests.operations.service_scenario import DYNAMIC, STATIC, CountingDocuments, Service
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


async def test_a_verified_source_is_deleted(world: Migrating) -> None:
    await world.put()
    await world.run()
    ended = await world.decommission()
    assert (ended.done, ended.differences, ended.postponed) == ([GLOBAL], (), False)
    assert await world.content(GLOBAL) is None
    assert (await world.record(GLOBAL, 2))["note"] == f"decommission by migration {SPLIT}"
    assert await world.verify() == AS_MADE
    assert await world.standings() == []
    await world.check_histories()


async def test_a_second_time_does_nothing(world: Migrating) -> None:
    await world.put()
    await world.run()
    await world.decommission()
    assert (await world.decommission()).done == []


async def test_what_does_not_verify_forbids_it(world: Migrating) -> None:
    etag = await world.put()
    assert [v.key for v in (await world.decommission()).differences] == [STATIC, DYNAMIC]
    await world.run()
    await world.put({**CONTENT, "preferences": ["Newer."]}, over=etag)
    assert [v.key for v in (await world.decommission()).differences] == [DYNAMIC]
    assert await world.content(GLOBAL) is not None


async def test_live_changes_of_what_was_made_do_not_forbid_it(world: Migrating) -> None:
    await world.put()
    await world.run()
    await world.prefer("Use tables.")
    assert (await world.decommission()).done == [GLOBAL]


async def test_in_place_nothing_is_left_over(world: Migrating) -> None:
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
