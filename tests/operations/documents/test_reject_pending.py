"""Rejecting a pending item on memory stores."""

import pytest

from memnet.domain.core.errors import DocumentNotFound, FieldDenied, PendingItemNotFound
from memnet.domain.documents.commands import IfExists, RejectPending
from memnet.operations.documents.reject_pending import reject_pending
from tests.operations.documents.test_confirm_pending import proposed
from tests.operations.service_scenario import BOB, DYNAMIC, Service
from tests.services import service_of


async def test_a_sensitive_note_is_refused():
    service = Service()
    item = (await proposed(service)).pending_id
    asked = {"key": DYNAMIC, "actor": BOB, "precondition": IfExists(), "idempotency_key": "k", "pending_id": item}
    with pytest.raises(FieldDenied) as refused:
        await reject_pending(RejectPending(**asked, note="card 4111 1111 1111 1111"), service_of(**service.ports()))
    assert refused.value.details == {"path": "/note", "kind": "card_number"}


async def test_the_item_goes_once_and_nothing_else_changes():
    service = Service()
    asked = {"key": DYNAMIC, "actor": BOB, "precondition": IfExists(), "idempotency_key": "k", "note": "No."}
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
