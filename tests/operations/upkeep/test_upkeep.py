"""A document is changed once per version, after its events are written, and nothing durable is lost."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.errors import VaultUnavailable
from memnet.domain.core.scope import DocumentKey
from memnet.domain.upkeep.compaction import plan_compaction
from memnet.domain.upkeep.maintenance import MaintenancePlan, profiles_maintaining
from memnet.operations.history.verify_history import rebuild_documents
from memnet.operations.upkeep import Kind, Outcome, maintain_document
from tests.domain.samples import CATALOG
from tests.operations.service_scenario import ALPHA, DYNAMIC, SCOPE
from tests.operations.upkeep_scenario import Upkeep
from tests.services import arguments, service_of

NOTES = [f"note {n:02}" for n in range(30)]


@pytest.fixture
async def world() -> AsyncIterator[Any]:
    made = Upkeep()
    yield made
    await made.service.background.drain()


async def tend(
    world: Any,
    key: Any = DYNAMIC,
    planner: Any = plan_compaction,
    kind: Any = Kind.COMPACTION,
    dry_run: bool = False,
    **members: Any,
) -> Any:
    [rules] = profiles_maintaining(world.catalog, key)
    return await maintain_document(
        key, rules, planner, kind=kind, dry_run=dry_run, **arguments(**{**world.ports, **members})
    )


async def sequence(world: Any, key: Any = DYNAMIC) -> Any:
    return (await world.service.head(key)).commit.sequence


async def test_it_is_an_ordinary_audited_change_with_a_reason_of_its_own(world: Any) -> None:
    await world.put_project(NOTES)
    etag = (await world.service.head(ALPHA)).commit.etag
    made = await tend(world, ALPHA)
    assert (made.outcome, made.profile_id, made.binding_id, made.problem) == (
        Outcome.CHANGED, "project-copilot-v1", "project_doc", None
    )  # fmt: skip
    assert (await world.content(ALPHA))["recent_notes"] == NOTES[6:]
    [event] = await world.told()
    assert event["digest"] == "\n".join(NOTES[:6])
    assert (event["source_type"], event["project_ids"], event["service_id"]) == (
        "compaction",
        ["alpha"],
        "memnet-worker",
    )
    record = await world.record(ALPHA)
    assert (record["actor"], record["reason"], record["pre_etag"]) == ("memnet-worker", "compaction", etag)
    assert record["idempotency_key"].startswith("compaction-1-")
    assert record["evidence"] == {"event_ids": [event["event_id"]], "entries": {"trimmed": 6}}
    [history] = await rebuild_documents(SCOPE, service_of(documents=world.service.documents, audit=world.service.audit))
    assert (history.fault, history.changes) == (None, 2)


async def test_a_compact_document_costs_one_read(world: Any) -> None:
    await world.put_project(["a"])
    world.service.documents.calls.clear()
    assert (await tend(world, ALPHA)).outcome is Outcome.UNTOUCHED
    assert world.service.documents.calls == {"get": 1}
    assert await world.told() == []


async def test_a_deleted_or_missing_document_is_left_alone(world: Any) -> None:
    assert (await tend(world, ALPHA)).outcome is Outcome.UNTOUCHED
    made = await world.put_project(NOTES)
    await world.service.delete(made.etag)
    assert (await tend(world, ALPHA)).outcome is Outcome.UNTOUCHED


async def test_one_version_is_changed_once_however_many_try(world: Any) -> None:
    await world.put_project(NOTES)
    outcomes = await asyncio.gather(*(tend(world, ALPHA) for _ in range(8)))
    assert {made.outcome for made in outcomes} <= {Outcome.CHANGED, Outcome.POSTPONED, Outcome.UNTOUCHED}
    assert await sequence(world, ALPHA) == 2
    assert len(await world.told()) == 1
    assert (await tend(world, ALPHA)).outcome is Outcome.UNTOUCHED


async def test_a_faster_writer_wins_and_the_next_run_continues(world: Any) -> None:
    made = await world.put_project(NOTES)

    async def write() -> None:
        world.events.then = None
        step = {"op": "replace", "path": "/content/summary", "value": "live"}
        await world.service.patch(step, over=made.etag)

    world.events.then = write
    assert (await tend(world, ALPHA)).outcome is Outcome.POSTPONED
    assert (await world.content(ALPHA))["summary"] == "live"
    assert len((await world.content(ALPHA))["recent_notes"]) == 30
    assert (await tend(world, ALPHA)).outcome is Outcome.CHANGED
    assert (await world.content(ALPHA)) == {"summary": "live", "facets": {}, "recent_notes": NOTES[6:]}


async def test_a_crash_between_event_and_change_is_made_good_by_the_next_run(world: Any) -> None:
    class Crash(BaseException):
        pass

    async def crash() -> None:
        world.events.then = None
        raise Crash

    await world.put_project(NOTES)
    world.events.then = crash
    with pytest.raises(Crash):
        await tend(world, ALPHA)
    assert await sequence(world, ALPHA) == 1
    assert len(await world.told()) == 1
    world.service.clock.advance(timedelta(hours=1))
    assert (await tend(world, ALPHA)).outcome is Outcome.CHANGED
    assert len(await world.told()) == 1
    assert await sequence(world, ALPHA) == 2


async def test_without_the_vault_nothing_is_trimmed_and_it_is_no_refusal(world: Any) -> None:
    await world.put_project(NOTES)
    world.service.vault.cache.forget(SCOPE)

    async def unavailable(tenant_id: Any, version: Any) -> None:
        raise VaultUnavailable

    world.service.tenant_keys.version = unavailable
    with pytest.raises(VaultUnavailable):
        await tend(world, ALPHA)
    assert await sequence(world, ALPHA) == 1


async def test_the_events_are_searchable_and_without_a_search_service_marked(world: Any) -> None:
    await world.put_project(NOTES)
    await tend(world, ALPHA)
    layout = await world.search.register.recent()
    assert layout is not None
    await world.put_project(NOTES, DocumentKey(SCOPE, "projects", "beta.json"))
    await tend(world, DocumentKey(SCOPE, "projects", "beta.json"), search=None)
    await world.service.background.drain()
    marks = (await world.events.list_marked(limit=10, cursor=None)).items
    assert [mark.confirmed_at is None for mark in marks].count(True) == 1


async def test_a_plan_that_would_lose_a_durable_fact_is_refused_and_logged(
    world: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def careless(content: Any, rules: Any, around: Any, now: Any) -> Any:
        rest = {**content, "durable_facts": content["durable_facts"][1:]}
        return MaintenancePlan([{"op": "remove", "path": "/content/durable_facts/0"}], (), (), 0, rest)

    await world.put_user(durable_facts=[world.fact("Works from Utrecht."), world.fact("other")])
    made = await tend(world, planner=careless)
    assert (made.outcome, made.problem) == (Outcome.REFUSED, "would lose durable content of /durable_facts")
    assert await sequence(world) == 1
    assert "would lose" in caplog.text
    assert "Utrecht" not in caplog.text


async def test_a_plan_that_the_schema_refuses_writes_no_event_either(
    world: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(content: Any, rules: Any, around: Any, now: Any) -> Any:
        plan = plan_compaction(content, rules, around, now)
        return dataclasses.replace(plan, ops=[*plan.ops, {"op": "add", "path": "/content/recent_notes/-", "value": 5}])

    await world.put_project(NOTES)
    made = await tend(world, ALPHA, planner=broken)
    assert (made.outcome, made.problem) == (Outcome.REFUSED, "SCHEMA_VIOLATION")
    assert await world.told() == []
    assert await sequence(world, ALPHA) == 1


async def test_a_profile_that_excludes_the_worker_refuses(world: Any) -> None:
    profiles = {
        name: profile.model_copy(update={"allowed_principals": ("svc-alice",)})
        for name, profile in CATALOG.profiles.items()
    }
    world.catalog = Catalog(profiles, CATALOG.schemas)
    await world.put_project(NOTES)
    made = await tend(world, ALPHA)
    assert (made.outcome, made.problem) == (Outcome.REFUSED, "PROFILE_FORBIDDEN")


async def test_another_event_under_the_id_refuses(world: Any) -> None:
    await world.put_project(NOTES)
    await tend(world, ALPHA)
    [event] = (await world.events.list(None, limit=9, cursor=None)).items
    other = Upkeep()
    await other.put_project(NOTES)
    await other.events.create(event, b"{}")
    made = await tend(other, ALPHA)
    assert (made.outcome, made.problem) == (Outcome.REFUSED, "EVENT_EXISTS")
    assert await sequence(other, ALPHA) == 1


async def test_a_dry_run_says_what_would_be_and_writes_nothing(world: Any) -> None:
    await world.put_project(NOTES)
    made = await tend(world, ALPHA, dry_run=True)
    assert (made.outcome, [step.entry for step in made.plan.steps]) == (Outcome.CHANGED, NOTES[5::-1])
    assert await world.told() == []
    assert await sequence(world, ALPHA) == 1


async def test_while_the_user_is_erased_it_is_postponed_without_a_word(
    world: Any, caplog: pytest.LogCaptureFixture
) -> None:
    made = await world.put_project(NOTES)
    await world.fences.write(ALPHA.scope, b"{}", replaces=None)
    assert (await tend(world, ALPHA)).outcome is Outcome.POSTPONED
    assert (await world.service.head(ALPHA)).commit.etag == made.etag
    assert await world.told() == []
    assert caplog.records == []
