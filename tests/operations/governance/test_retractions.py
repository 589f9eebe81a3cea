"""Retractions are planned, begun, listed and checked."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import orjson
import pytest

from memnet.domain.core.errors import (
    ETagMismatch,
    IdempotencyKeyReused,
    MalformedRequest,
    PlannerCannotApply,
    RetractionClosed,
    RetractionNotFound,
    UserNotFound,
)
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import Actor, ETag, UserScope
from memnet.domain.governance.retraction import RetractionStatus
from memnet.domain.governance.source import Source, SourceKind
from memnet.operations.governance.retractions import (
    apply_retraction,
    get_retraction,
    list_retractions,
    plan_retraction,
    undo_retraction,
)
from memnet.operations.governance.run_retraction import fail_retraction
from memnet.operations.service.backlog import requeue_jobs
from memnet.operations.service.waiting import list_waiting
from tests.memory_blobs import storage_of
from tests.operations.retraction_scenario import ADMIN, OTHER, Retracting, texts
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import POISONED


@pytest.fixture
async def world() -> Retracting:
    return await Retracting().prepared()


async def test_a_plan_names_what_happens_and_changes_nothing(world: Retracting) -> None:
    before = world.stored("documents", "events", "snapshots", "replays", "conflicts")
    view = await world.planned()
    assert world.stored("documents", "events", "snapshots", "replays", "conflicts") == before
    assert view.retraction.status is RetractionStatus.PLANNED
    (document,) = view.plan.documents
    assert [value.fate.value for value in document.values].count("removed") == 1
    gone = next(value for value in document.values if value.fate.value == "removed")
    assert "Mallory" in orjson.dumps(gone.before).decode()
    assert {item.kind.value for item in view.plan.items} == {"replay", "conflict", "snapshot", "event"}
    again = await world.planned()
    assert (again.retraction, again.plan) == (view.retraction, view.plan)
    with pytest.raises(IdempotencyKeyReused) as reused:
        await plan_retraction(ONE, POISONED, "Another reason.", world.service, actor=ADMIN, idempotency_key="k1")
    assert reused.value.details == {"retraction_id": view.retraction.retraction_id}


async def test_states_tags_and_principals_are_checked(world: Retracting) -> None:
    view = await world.planned()
    retraction_id = view.retraction.retraction_id
    with pytest.raises(ETagMismatch):
        await apply_retraction(ONE, retraction_id, ETag('"other"'), world.service, actor=ADMIN)
    with pytest.raises(RetractionNotFound):
        await get_retraction(ONE, "rtr-none", world.service)
    await apply_retraction(ONE, retraction_id, view.retraction.etag, world.service, actor=ADMIN)
    with pytest.raises(RetractionClosed):
        await undo_retraction(ONE, retraction_id, world.service, actor=ADMIN)
    await world.run(retraction_id)
    await world.undone(retraction_id)
    with pytest.raises(RetractionClosed):
        await apply_retraction(ONE, retraction_id, view.retraction.etag, world.service, actor=ADMIN)
    page = await list_retractions(ONE, world.service, limit=10, cursor=None)
    assert [found.status for found in page.items] == [RetractionStatus.UNDONE]


async def test_a_profile_can_ask_for_another_principal() -> None:
    world = await Retracting().prepared()
    strict = {"retracted_by": "another_principal"}
    profiles = {name: profile.model_copy(update=strict) for name, profile in world.catalog.profiles.items()}
    world.service = replace(world.service, catalog=replace(world.catalog, profiles=profiles))
    view = await world.planned()
    assert view.retraction.needs_another
    for actor, error in ((ADMIN, PlannerCannotApply), (OTHER, None)):
        call = apply_retraction(ONE, view.retraction.retraction_id, view.retraction.etag, world.service, actor=actor)
        if error is None:
            await call
        else:
            with pytest.raises(error):
                await call


async def test_a_document_that_has_a_value_only_since_the_plan_asks_for_another_principal() -> None:
    """A plan of a source that has taught nothing yet names no document, and its planner may apply it."""
    world = await Retracting().prepared()
    strict = {"retracted_by": "another_principal"}
    profiles = {name: profile.model_copy(update=strict) for name, profile in world.catalog.profiles.items()}
    world.service = replace(world.service, catalog=replace(world.catalog, profiles=profiles))
    source = Source(kind=SourceKind.CONVERSATION, conversation_id="c7")
    asked: dict[str, Any] = {"actor": ADMIN, "idempotency_key": "k7"}
    planned = (await plan_retraction(ONE, source, "It was injected.", world.service, **asked)).retraction
    assert not planned.needs_another
    await world.live("From c7", conversation_id="c7")
    await apply_retraction(ONE, planned.retraction_id, planned.etag, world.service, actor=ADMIN)
    with pytest.raises(PlannerCannotApply) as refused:
        await world.run(planned.retraction_id)
    assert "From c7" in texts(await world.content())
    job = Job(JobKind.RETRACTION, ONE.tenant_id, ONE.user_id, planned.retraction_id)
    failed = await fail_retraction(job, refused.value.code.value, world.service)
    assert failed is not None
    assert (failed.status, failed.needs_another) == (RetractionStatus.FAILED, True)
    with pytest.raises(PlannerCannotApply):
        await apply_retraction(ONE, planned.retraction_id, None, world.service, actor=ADMIN)
    await apply_retraction(ONE, planned.retraction_id, None, world.service, actor=OTHER)
    ended = await world.run(planned.retraction_id)
    assert (ended.status, ended.applied_by) == (RetractionStatus.APPLIED, OTHER.principal)
    assert "From c7" not in texts(await world.content())


async def test_a_plan_waits_and_a_lost_job_is_sent_again(world: Retracting) -> None:
    view = await world.planned()
    rows = [row for row in (await list_waiting(ONE.tenant_id, world.service, kind=None, limit=50, cursor=None)).items]
    assert [row["count"] for row in rows if row["kind"] == "retraction"] == [1]
    begun = await apply_retraction(ONE, view.retraction.retraction_id, view.retraction.etag, world.service, actor=OTHER)
    world.queue.sent.clear()
    world.clock.advance(timedelta(minutes=5))
    await requeue_jobs(world.service)
    assert [job.job_id for job, _, _ in world.queue.sent if job.kind is JobKind.RETRACTION] == [begun.retraction_id]
    await world.run(begun.retraction_id)
    rows = [row for row in (await list_waiting(ONE.tenant_id, world.service, kind=None, limit=50, cursor=None)).items]
    assert not [row for row in rows if row["kind"] == "retraction"]


@pytest.mark.parametrize("until", ["2026-02-01T00:00:00.000000Z", "2026-01-31T00:00:00.000000Z"])
async def test_a_source_that_ends_before_it_begins_is_refused(world: Retracting, until: str) -> None:
    source = Source(kind=SourceKind.ACTOR, actor="svc-live", since="2026-02-01T00:00:00.000000Z", until=until)
    with pytest.raises(MalformedRequest) as refused:
        await plan_retraction(ONE, source, "Wrong.", world.service, actor=ADMIN, idempotency_key="k1")
    assert refused.value.param == "/source/until"
    assert (await list_retractions(ONE, world.service, limit=10, cursor=None)).items == []


async def test_a_key_is_one_of_its_principal(world: Retracting) -> None:
    """Names of principals and keys can hold spaces."""
    found = [
        await plan_retraction(
            ONE, POISONED, "Wrong.", world.service, actor=Actor(name, frozenset()), idempotency_key=key
        )
        for name, key in (("a", "b c"), ("a b", "c"))
    ]
    assert [view.retraction.planned_by for view in found] == ["a", "a b"]


async def test_a_plan_for_a_user_about_whom_nothing_is_stored_is_refused_and_stores_nothing(world: Retracting) -> None:
    before = storage_of(world.service.records).names()
    misspelt = UserScope(ONE.tenant_id, f"{ONE.user_id}x")
    with pytest.raises(UserNotFound):
        await plan_retraction(misspelt, POISONED, "It was injected.", world.service, actor=ADMIN, idempotency_key="k1")
    assert storage_of(world.service.records).names() == before

    other = Source(kind=SourceKind.CONVERSATION, conversation_id="never-seen")
    view = await plan_retraction(ONE, other, "It was injected.", world.service, actor=ADMIN, idempotency_key="k2")
    assert (view.plan.documents, view.plan.items) == ((), ())
