"""List, confirm and reject pending items."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from memnet.domain.core.errors import (
    DocumentNotFound,
    FieldDenied,
    IdempotencyKeyReused,
    PendingItemNotFound,
)
from memnet.domain.core.scope import UserScope
from memnet.domain.documents.commands import ConfirmPending, IfExists, RejectPending
from memnet.operations.documents.pending import confirm_pending, list_pending, reject_pending
from tests.domain.samples import CATALOG
from tests.operations.service_scenario import BOB, DYNAMIC, SCOPE, Service
from tests.services import service_of

EVIDENCE = {"conversation_id": "c1"}
FACT = {"id": "f1", "text": "Lives in Bern.", "confidence": 0.5, "evidence": EVIDENCE}
FACT |= {"last_verified_at": "2025-01-01T00:00:00Z"}


@pytest.fixture
async def service() -> AsyncIterator[Any]:
    made = Service()
    yield made
    await made.background.drain()


async def proposed(service: Service) -> ConfirmPending:
    """Return the confirmation of a pending proposal."""
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


async def test_a_confirmation_is_applied_once(service: Any) -> None:
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


async def test_a_confirmation_needs_the_document(service: Any) -> None:
    command = await proposed(service)
    with pytest.raises(DocumentNotFound):
        await confirm(Service(), command)
    await service.delete((await service.head(DYNAMIC)).commit.etag, key=DYNAMIC)
    with pytest.raises(DocumentNotFound):
        await confirm(service, command)


CARD = "card 4111 1111 1111 1111"


async def test_a_sensitive_note_of_a_rejection_is_refused() -> None:
    service = Service()
    item = (await proposed(service)).pending_id
    asked: dict[str, Any] = {"key": DYNAMIC, "actor": BOB, "precondition": IfExists(), "idempotency_key": "k"}
    with pytest.raises(FieldDenied) as refused:
        await reject_pending(RejectPending(pending_id=item, note=CARD, **asked), service_of(**service.ports()))
    assert refused.value.details == {"path": "/note", "kind": "card_number"}


async def test_a_rejection_removes_only_the_item() -> None:
    service = Service()
    asked: dict[str, Any] = {
        "key": DYNAMIC,
        "actor": BOB,
        "precondition": IfExists(),
        "idempotency_key": "k",
        "note": "No.",
    }
    command = RejectPending(pending_id=(await proposed(service)).pending_id, **asked)
    first = await reject_pending(command, service_of(**service.ports()))
    again = await reject_pending(command, service_of(**service.ports()))
    assert (again.change_id, again.replayed) == (first.change_id, True)
    content = (await service.head(DYNAMIC)).content
    assert content == {"preferences": [], "user_instructions": [], "durable_facts": [], "pending_confirmations": []}
    record = await service.record(2, DYNAMIC)
    assert (record["reason"], record["note"], record["actor"]) == ("rejection", "No.", BOB.principal)
    with pytest.raises(PendingItemNotFound):
        await reject_pending(
            RejectPending(pending_id="p9", **asked | {"idempotency_key": "k2"}), service_of(**service.ports())
        )
    with pytest.raises(DocumentNotFound):
        await reject_pending(command, service_of(**Service().ports()))
    await service.background.drain()


async def found(service: Service, scope: UserScope = SCOPE, limit: int = 1) -> list[tuple[str, str, str]]:
    rows, cursor = [], None
    while True:
        page = await list_pending(
            scope, service_of(documents=service.documents, catalog=CATALOG), limit=limit, cursor=cursor
        )
        rows += [(listed.key.path, listed.waiting.pointer, listed.waiting.item["id"]) for listed in page.items]
        cursor = page.next_cursor
        if cursor is None:
            return rows


async def test_pages_list_each_item_of_the_user_only() -> None:
    service = Service()
    pending_id = (await proposed(service)).pending_id
    await service.patch({"op": "add", "path": "/content/recent_notes/-", "value": "x"})
    expected = [("user_dynamic.json", "/content/pending_confirmations/0", pending_id)]
    assert await found(service) == await found(service, limit=1000) == expected
    assert await found(service, UserScope("t1", "u2")) == []
    await service.delete((await service.head(DYNAMIC)).commit.etag, key=DYNAMIC)
    assert await found(service) == []
    await service.background.drain()
