"""Confirming a pending item on memory stores: exactly once, on the newest version, recorded."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from memnet.domain.core.errors import DocumentNotFound, ETagMismatch, IdempotencyKeyReused, PendingItemNotFound
from memnet.domain.documents.commands import ConfirmPending, IfExists, IfMatch
from memnet.operations.documents.confirm_pending import confirm_pending
from tests.operations.service_scenario import BOB, DYNAMIC, Service
from tests.services import service_of

EVIDENCE = {"conversation_id": "c1"}
FACT = {"id": "f1", "text": "Lives in Bern.", "confidence": 0.5, "evidence": EVIDENCE}
FACT |= {"last_verified_at": "2025-01-01T00:00:00Z"}


@pytest.fixture
async def service():
    made = Service()
    yield made
    await made.background.drain()


async def proposed(service: Service) -> ConfirmPending:
    """The confirmation of a proposal that waits."""
    add = {"op": "add", "path": "/content/durable_facts/-", "value": FACT}
    made = await service.patch(add, key=DYNAMIC, confidence=0.5, evidence=EVIDENCE)
    return ConfirmPending(
        key=DYNAMIC,
        actor=BOB,
        precondition=IfExists(),
        idempotency_key="confirm",
        pending_id=made.redirected[0]["pending_id"],
        confidence=0.9,
        evidence={"event_id": "e1"},
    )


async def confirm(service: Service, command: ConfirmPending) -> Any:
    return await confirm_pending(command, service_of(**service.ports()))


async def test_it_is_applied_once_however_often_it_is_sent(service):
    command = await proposed(service)
    outcomes = await asyncio.gather(*(confirm(service, command) for _ in range(5)))
    assert {made.change_id for made in outcomes} == {outcomes[0].change_id}
    assert sum(made.replayed for made in outcomes) == 4
    content = (await service.head(DYNAMIC)).content
    assert [fact["text"] for fact in content["durable_facts"]] == ["Lives in Bern."]
    assert content["pending_confirmations"] == []
    record = await service.record(2, DYNAMIC)
    assert (record["reason"], record["actor"], record["confidence"]) == ("confirmation", BOB.principal, 0.9)
    assert record["evidence"]["pending_id"] == command.pending_id
    with pytest.raises(IdempotencyKeyReused):
        await confirm(service, replace(command, confidence=0.95))
    with pytest.raises(PendingItemNotFound):
        await confirm(service, replace(command, idempotency_key="another"))


async def test_repeated_after_the_document_has_forgotten_the_request_it_changes_nothing(service):
    command = await proposed(service)
    etag = (await confirm(service, command)).etag
    for number in range(70):
        step = {"op": "add", "path": "/content/preferences", "value": [f"{number}"]}
        etag = (await service.patch(step, over=etag, key=DYNAMIC)).etag
    with pytest.raises(PendingItemNotFound):
        await confirm(service, command)
    assert (await service.head(DYNAMIC)).commit.etag == etag


async def test_with_if_match_it_is_held_to_that_version(service):
    command = await proposed(service)
    etag = (await service.head(DYNAMIC)).commit.etag
    newer = await service.patch({"op": "add", "path": "/content/preferences/-", "value": "x"}, over=etag, key=DYNAMIC)
    with pytest.raises(ETagMismatch):
        await confirm(service, replace(command, precondition=IfMatch(etag)))
    assert (await confirm(service, replace(command, precondition=IfMatch(newer.etag)))).sequence == 3


async def test_a_dry_run_shows_the_document_and_writes_nothing(service):
    command = await proposed(service)
    shown = await confirm(service, replace(command, dry_run=True))
    assert shown.dry_run
    assert shown.document is not None
    assert (await service.head(DYNAMIC)).commit.sequence == 1


async def test_without_the_document_there_is_nothing_to_confirm(service):
    command = await proposed(service)
    with pytest.raises(DocumentNotFound):
        await confirm(Service(), command)
    await service.delete((await service.head(DYNAMIC)).commit.etag, key=DYNAMIC)
    with pytest.raises(DocumentNotFound):
        await confirm(service, command)
