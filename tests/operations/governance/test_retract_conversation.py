"""The short form of a retraction: a conversation is planned and applied at once."""

from typing import Any

import pytest

from memnet.domain.core.errors import IdempotencyKeyReused, InvalidIdentifier, UserHeld
from memnet.domain.governance.legal_hold import HoldTarget
from memnet.domain.governance.retraction import Retraction, RetractionStatus
from memnet.operations.governance.legal_holds import place_hold
from memnet.operations.governance.retract_conversation import retract_conversation
from memnet.operations.governance.retractions import list_retractions
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import ADMIN, WithdrawnWorld


async def retract(world: WithdrawnWorld, conversation_id: str = "c1", **members: Any) -> Retraction:
    given: dict[str, Any] = {"reason": "It was poisoned.", "idempotency_key": "k1", "actor": ADMIN} | members
    reason = given.pop("reason")
    return (await retract_conversation(ONE, conversation_id, reason, world.service, **given)).retraction


async def test_a_conversation_is_planned_and_applied_at_once_and_once() -> None:
    world = WithdrawnWorld()
    await world.fill()
    first = await retract(world)
    assert first.status is RetractionStatus.APPLYING
    await world.run_jobs()
    again = await retract(world)
    assert again.retraction_id == first.retraction_id
    assert again.status in (RetractionStatus.APPLIED, RetractionStatus.PARTIAL)
    assert await world.plan() == []
    with pytest.raises(IdempotencyKeyReused):
        await retract(world, "c2")


async def test_a_dry_run_only_plans() -> None:
    world = WithdrawnWorld()
    await world.fill()
    before = world.kept()
    world.queue.sent.clear()
    planned = await retract(world, dry_run=True)
    assert planned.status is RetractionStatus.PLANNED
    assert planned.counts["items"] == 4
    assert (world.kept(), world.queue.sent) == (before, [])
    assert (await retract(world)).status is RetractionStatus.APPLYING


async def test_a_legal_hold_refuses_it() -> None:
    world = WithdrawnWorld()
    await world.fill()
    before = world.kept()
    await place_hold(HoldTarget(ONE.tenant_id, ONE.user_id), "A case.", world.service, actor=ADMIN)
    with pytest.raises(UserHeld):
        await retract(world)
    assert world.kept() == before
    assert (await list_retractions(ONE, world.service, limit=10, cursor=None)).items == []


async def test_an_id_that_cannot_be_one_is_refused() -> None:
    with pytest.raises(InvalidIdentifier):
        await retract(WithdrawnWorld(), "../c1")
