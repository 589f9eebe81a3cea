"""Refreshing one document under the shipped profiles, and what confirming brings back."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from memnet.domain.core.errors import ProposerCannotConfirm
from memnet.domain.core.scope import DocumentKey
from memnet.operations.upkeep.maintain_document import Outcome
from memnet.operations.upkeep.refresh_document import refresh_document
from tests.operations.service_scenario import BOB, DYNAMIC, SCOPE
from tests.operations.upkeep_scenario import WORKER, Upkeep
from tests.services import arguments

CUSTOMER = DocumentKey(SCOPE, "support", "customer.json")


@pytest.fixture
async def world() -> AsyncIterator[Any]:
    made = Upkeep()
    yield made
    await made.service.background.drain()


async def test_a_stale_fact_waits_and_is_confirmed_by_an_ordinary_patch_of_another(world: Any) -> None:
    old = world.fact("Works from Utrecht.", days=400)
    await world.put_user(durable_facts=[old, world.fact("fresh")])
    [made] = await refresh_document(DYNAMIC, **arguments(**world.ports))
    assert (made.outcome, made.plan.counts()) == (Outcome.CHANGED, {"stale": 1})
    content = await world.content()
    [item] = content["pending_confirmations"]
    assert item["target"] == {"op": "add", "path": "/content/durable_facts/-", "value": old}
    confirmed = {**old, "last_verified_at": "2026-01-01T00:00:00Z"}
    ops = [{"op": "remove", "path": "/content/pending_confirmations/0"}, {**item["target"], "value": confirmed}]
    claim = {"key": DYNAMIC, "confidence": 0.9, "evidence": {"conversation_id": "c2"}}
    etag = (await world.service.head(DYNAMIC)).commit.etag
    with pytest.raises(ProposerCannotConfirm):
        await world.service.patch(*ops, over=etag, actor=WORKER, **claim)
    await world.service.patch(*ops, over=etag, actor=BOB, **claim)
    assert (await world.content())["durable_facts"] == [world.fact("fresh"), confirmed]
    assert [made.outcome for made in await refresh_document(DYNAMIC, **arguments(**world.ports))] == [Outcome.UNTOUCHED]


async def test_what_has_expired_is_told_in_an_event_and_gone(world: Any) -> None:
    gone = world.fact("On holiday.", expires_at="2026-01-02T00:00:00Z")
    await world.put_user(durable_facts=[gone])
    assert [made.outcome for made in await refresh_document(DYNAMIC, **arguments(**world.ports))] == [Outcome.UNTOUCHED]
    world.service.clock.advance(timedelta(days=1))
    assert [made.outcome for made in await refresh_document(DYNAMIC, **arguments(**world.ports))] == [Outcome.CHANGED]
    assert (await world.content())["durable_facts"] == []
    [event] = await world.told()
    assert (event["source_type"], event["evidence"]["entries"]) == ("freshness", [gone])
    assert (await world.record())["reason"] == "freshness"


async def test_a_pending_section_that_is_full_holds_what_is_stale(world: Any) -> None:
    facts = [world.fact(f"fact {n}", days=400 + n) for n in range(32)]
    await world.put_user(durable_facts=facts)
    [made] = await refresh_document(DYNAMIC, **arguments(**world.ports))
    assert (made.plan.counts(), made.plan.held) == ({"stale": 30}, 2)
    assert [fact["text"] for fact in (await world.content())["durable_facts"]] == ["fact 0", "fact 1"]


async def test_what_has_a_date_alone_and_no_evidence_waits_too(world: Any) -> None:
    old = {"text": "Free shipping.", "agreed_on": "2023-12-30"}
    members = {"schema_id": "support.customer", "key": CUSTOMER, "binding_id": "customer"}
    content = {"account": {}, "open_tickets": [], "agreements": [old], "to_verify": []}
    await world.service.replace(content, profile_id="support-desk-v1", **members)
    [made] = await refresh_document(CUSTOMER, **arguments(**world.ports))
    assert made.outcome is Outcome.CHANGED
    [item] = (await world.content(CUSTOMER))["to_verify"]
    assert (item["target"]["value"], item["confidence"], item["evidence"]) == (old, None, None)
