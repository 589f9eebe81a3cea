"""Migrating the documents of one user: writes, refusals and races."""

import asyncio
from datetime import datetime
from typing import Any

import pytest

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.catalog.migration_model import Migration, Unit
from memnet.domain.core.scope import DocumentKey, StorageETag, UserScope
from memnet.domain.documents.envelope import DocumentSummary
from memnet.domain.governance.migration_plan import difference
from memnet.operations.governance.migrations import find_migration_units
from memnet.stores import FenceCheck
from tests.operations.migration_scenario import (
    ADMIN,
    CONTENT,
    GLOBAL,
    OLDEST,
    SPLIT,
    STATIC_MADE,
    TO_09,
    TO_10,
    Migrating,
    at_version,
    example,
    with_profile,
)
from tests.operations.service_scenario import DYNAMIC, SCOPE, STATIC, CountingDocuments, Service, note
from tests.services import service_of

NO_FACTS = {**CONTENT, "facts": []}


@pytest.fixture
async def world(service: Service) -> Migrating:
    return Migrating(service)


async def test_one_document_becomes_two(world: Migrating) -> None:
    await world.put()
    assert await world.actions() == ["create", "create"]
    assert await world.content(STATIC) == STATIC_MADE
    made = await world.content(DYNAMIC)
    (fact,) = made.pop("durable_facts")
    assert made == {"preferences": ["Short answers."], "pending_confirmations": []}
    assert (fact["text"], fact["last_verified_at"]) == ("Works from Utrecht.", (await world.head(GLOBAL)).updated_at)
    assert await world.content(GLOBAL) == CONTENT
    await world.check_histories()


async def test_the_audit_record_names_actor_reason_and_sources(world: Migrating) -> None:
    etag = await world.put()
    await world.run()
    record = await world.record(DYNAMIC, 1)
    assert (record["actor"], record["reason"], record["note"]) == (
        ADMIN.principal,
        "admin_migration",
        f"migration {SPLIT}",
    )
    assert (record["profile_id"], record["binding_id"]) == ("project-copilot-v1", "user_dynamic")
    assert record["evidence"]["sources"]["global"] == {
        "namespace": "user",
        "path": "global.json",
        "etag": etag,
        "change_id": (await world.head(GLOBAL)).change_id(1),
    }
    assert record["evidence"]["definition"] == world.migration().digest()


async def test_a_second_run_writes_nothing(world: Migrating) -> None:
    await world.put()
    await world.run()
    puts = world.service.documents.calls["put"]
    assert await world.actions() == ["done", "done"]
    assert world.service.documents.calls["put"] == puts


async def test_a_dry_run_shows_the_difference_and_writes_nothing(world: Migrating) -> None:
    await world.put(NO_FACTS)
    static, dynamic = await world.run(dry_run=True)
    assert difference(static) == [{"op": "add", "path": "/content", "value": STATIC_MADE}]
    assert dynamic.action == "create"
    assert await world.content(STATIC) is None


async def test_a_user_without_a_source_is_skipped(world: Migrating) -> None:
    assert await world.run() == []


async def test_if_one_target_fails_none_is_written(world: Migrating) -> None:
    await world.put({**CONTENT, "profile": {"locale": "not a locale"}})
    static, dynamic = await world.run()
    assert static.action == "failed"
    assert static.problem is not None
    assert "SCHEMA_VIOLATION" in static.problem
    assert "/content/profile/locale" in static.problem
    assert (dynamic.action, dynamic.problem) == ("failed", "another of its targets cannot be made")
    assert await world.content(DYNAMIC) is None


async def test_every_profile_that_covers_a_target_must_accept_it(world: Migrating) -> None:
    other = example().profile("project-copilot-v1")
    strict = tuple(b.model_copy(update={"max_chars": 20}) for b in other.document_bindings)
    more = other.model_copy(update={"profile_id": "zz", "document_bindings": strict})
    world.catalog = with_profile(example(), more)
    await world.put()
    static, _ = await world.run()
    assert "LIMIT_EXCEEDED" in (static.problem or "")


async def test_a_target_that_no_profile_covers_is_refused(world: Migrating) -> None:
    await world.put()
    catalog = example()
    world.catalog = Catalog({"legacy-v1": catalog.profile("legacy-v1")}, catalog.schemas, {}, catalog.migrations)
    assert [d.problem for d in await world.run()] == ["no binding of a profile covers it"] * 2


async def test_the_actor_must_be_admitted(world: Migrating) -> None:
    await world.put()
    closed = example().profile("project-copilot-v1").model_copy(update={"allowed_principals": ("somebody",)})
    world.catalog = with_profile(example(), closed)
    assert "PROFILE_FORBIDDEN" in ((await world.run())[0].problem or "")


async def test_an_existing_document_of_others_is_not_overwritten(world: Migrating) -> None:
    await world.put({"profile": {"display_name": "B"}, "preferences": []})
    await world.run()
    await world.roll_back()
    await world.service.patch(
        {"op": "add", "path": "/content/preferences/-", "value": "Mine."}, key=DYNAMIC, binding_id="user_dynamic"
    )
    _, dynamic = await world.run()
    assert (dynamic.action, dynamic.problem) == ("failed", "it exists, and was not made by the migration")
    assert (await world.content(DYNAMIC))["preferences"] == ["Mine."]


async def test_an_equal_existing_document_is_done(world: Migrating) -> None:
    await world.put({"profile": {}, "preferences": ["Mine."]})
    await world.service.patch(
        {"op": "add", "path": "/content/preferences/-", "value": "Mine."},
        {"op": "remove", "path": "/content/user_instructions"},
        key=DYNAMIC,
        binding_id="user_dynamic",
        confidence=1.0,
        evidence={"conversation_id": "c1"},
    )
    assert await world.actions() == ["create", "done"]


# What happens after.


async def test_a_source_that_changed_since_is_migrated_again(world: Migrating) -> None:
    etag = await world.put()
    await world.run()
    await world.put({**CONTENT, "preferences": ["Long answers."]}, over=etag)
    assert await world.actions() == ["done", "replace"]
    assert (await world.content(DYNAMIC))["preferences"] == ["Long answers."]
    assert await world.verify() == [(STATIC.path, None, False), (DYNAMIC.path, None, False)]


async def test_a_target_changed_by_others_is_left_unchanged(world: Migrating) -> None:
    await world.put()
    await world.run()
    await world.prefer("Use tables.")
    assert await world.actions() == ["done", "changed_since"]
    assert (await world.content(DYNAMIC))["preferences"] == ["Short answers.", "Use tables."]


async def test_a_target_deleted_by_others_stays_deleted(world: Migrating) -> None:
    await world.put()
    await world.run()
    await world.service.delete(over=(await world.head(STATIC)).commit.etag, key=STATIC)
    assert await world.actions() == ["changed_since", "done"]
    assert await world.content(STATIC) is None


async def test_if_source_and_target_changed_it_fails(world: Migrating) -> None:
    etag = await world.put()
    await world.run()
    await world.prefer("Use tables.")
    await world.put({**CONTENT, "preferences": ["Long answers."]}, over=etag)
    static, dynamic = await world.run()
    assert static.action == "done"
    assert dynamic.problem == "both it and its source were changed since it was migrated"


# In place, and chains.


async def test_versions_chain(world: Migrating) -> None:
    await world.put(OLDEST, version="0.8.0")
    before = await world.view(GLOBAL)
    assert await world.actions(TO_10) == ["replace"]
    head = await world.head(GLOBAL)
    assert (head.schema_version, head.content) == (
        "1.0.0",
        {"profile": {"display_name": "Ada"}, "preferences": ["tea"]},
    )
    assert await world.actions(TO_10) == ["done"]
    assert await world.actions(TO_09) == ["done"]
    assert await world.view(GLOBAL, head.change_id(1)) == before


async def test_a_split_upgrades_older_versions(world: Migrating) -> None:
    await world.put(OLDEST, version="0.8.0")
    assert await world.actions() == ["create", "create"]
    assert (await world.content(DYNAMIC))["preferences"] == ["tea"]


async def test_every_intermediate_version_must_match_its_schema(world: Migrating) -> None:
    await world.put({"name": ""}, version="0.8.0")
    (decision,) = await world.run(TO_10)
    assert "SCHEMA_VIOLATION" in (decision.problem or "")
    assert TO_09 in (decision.problem or "")


async def test_a_profile_that_still_binds_the_old_version_refuses_the_new_one(world: Migrating) -> None:
    world.catalog = at_version("0.9.0")
    await world.put(OLDEST, version="0.8.0")
    (decision,) = await world.run(TO_10)
    assert "BINDING_MISMATCH" in (decision.problem or "")
    assert await world.actions(TO_09) == ["replace"]


async def test_a_version_without_a_migration_fails(world: Migrating) -> None:
    await world.put(OLDEST, version="0.8.0")
    catalog = example()
    kept = {name: m for name, m in catalog.migrations.items() if name != TO_09}
    world.catalog = Catalog(catalog.profiles, catalog.schemas, catalog.prompts, kept)
    (decision,) = await world.run(TO_10)
    assert decision.problem == "no migration leads from legacy.global/0.8.0 to legacy.global/0.9.0"


# Races.


class Meddling(CountingDocuments):
    """Runs another write just before a PUT."""

    meddle: Any = None

    async def put(
        self,
        key: DocumentKey,
        data: bytes,
        summary: DocumentSummary,
        *,
        replaces: StorageETag | None,
        checked: FenceCheck | None = None,
        known_at: datetime | None = None,
    ) -> None:
        if self.meddle is not None:
            meddle, self.meddle = self.meddle, None
            await meddle()
        await super().put(key, data, summary, replaces=replaces, checked=checked, known_at=known_at)


async def test_a_version_written_meanwhile_is_migrated() -> None:
    documents = Meddling()
    world = Migrating(Service(documents=documents))
    etag = await world.put()

    async def live() -> None:
        await world.put({**CONTENT, "preferences": ["Newer."]}, over=etag)

    documents.meddle = live
    assert await world.actions() == ["create", "replace"]
    assert (await world.content(DYNAMIC))["preferences"] == ["Newer."]
    await world.check_histories()


async def test_a_writer_that_is_always_faster_postpones_it() -> None:
    documents = Meddling()
    world = Migrating(Service(documents=documents))
    await world.put(OLDEST, version="0.8.0")

    async def live() -> None:
        etag = (await world.head(GLOBAL)).commit.etag
        await world.put({"name": "Ada", "likes": f"{world.keys}"}, over=etag, version="0.8.0")
        documents.meddle = live

    documents.meddle = live
    assert await world.actions(TO_10) == ["postponed"]
    documents.meddle = None


async def test_concurrent_runs_write_once(world: Migrating) -> None:
    await world.put()
    runs = await asyncio.gather(*(world.run() for _ in range(8)))
    assert {d.action.value for run in runs for d in run} <= {"create", "done"}
    for key in (STATIC, DYNAMIC):
        assert (await world.head(key)).commit.sequence == 1
    await world.check_histories()


OTHER, ELSEWHERE = UserScope("t1", "u2"), UserScope("t2", "u1")
FAMILY = Migration.model_validate_json(
    """{"migration_id": "m",
        "sources": {"old": {"namespace": "old", "path_template": "{id}.json", "schema_id": "s", "schema_version": "1"}},
        "targets": [{"namespace": "projects", "path_template": "{id}.json", "schema_id": "s", "schema_version": "2",
                     "steps": [{"op": "test", "path": "/content", "value": {}}]}]}"""
)


async def test_users_are_found_by_their_documents(service: Service) -> None:
    world = Migrating(service)
    etag, *_ = [await world.put(scope=scope) for scope in (SCOPE, OTHER, ELSEWHERE)]
    # A user with deleted documents is found, too.
    await service.delete(over=etag, key=GLOBAL)
    found = world.migration()
    ports = service_of(documents=service.documents)
    assert await find_migration_units(found, ports, tenant_id=None, user_id=None) == [
        Unit(SCOPE),
        Unit(OTHER),
        Unit(ELSEWHERE),
    ]
    assert await find_migration_units(found, ports, tenant_id="t1", user_id=None) == [Unit(SCOPE), Unit(OTHER)]
    assert await find_migration_units(found, ports, tenant_id="t1", user_id="u2") == [Unit(OTHER)]
    assert await find_migration_units(found, ports, tenant_id="t1", user_id="u3") == []


async def test_each_member_of_a_family_is_a_unit(service: Service) -> None:
    for name in ("alpha", "beta"):
        await service.patch(note("s"), key=DocumentKey(SCOPE, "projects", f"{name}.json"))
    found = await find_migration_units(FAMILY, service_of(documents=service.documents), tenant_id="t1", user_id="u1")
    assert found == [Unit(SCOPE, "alpha"), Unit(SCOPE, "beta")]
    assert found[0].key(FAMILY.sources["old"]) == DocumentKey(SCOPE, "old", "alpha.json")
