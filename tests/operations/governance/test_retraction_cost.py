"""The storage calls of a retraction, by the documents and items of a user, and of users who have none."""

from collections import Counter
from typing import Any

import pytest

from memnet.domain.context.context import AssembleContext
from memnet.operations.context import assemble_context
from memnet.operations.governance.retractions import apply_retraction, plan_retraction, undo_retraction
from tests.memory_blobs import storage_of
from tests.operations.retraction_scenario import ADMIN, OTHER, Retracting
from tests.operations.storage_calls import StorageCalls
from tests.operations.turn_search_scenario import ACTOR, ONE, SPOKEN
from tests.operations.withdrawn_scenario import POISONED, drain


async def prepared(clean: int) -> Retracting:
    """A user with a poisoned conversation, and so many clean ones, in one document."""
    world = await Retracting().prepared()
    for number in range(clean):
        await world.work(await world.say(f"clean-{number}"))
    await drain(world.service)
    return world


async def costs(clean: int) -> dict[str, int]:
    """The calls of each step, the background included."""
    world = await prepared(clean)
    counted, calls = {}, StorageCalls(world.service)

    async def note(step: str) -> None:
        await drain(world.service)
        counted[step] = calls.total()
        calls.clear()

    asked: dict[str, Any] = {"actor": ADMIN, "idempotency_key": "k1"}
    planned = (await plan_retraction(ONE, POISONED, "It was injected.", world.service, **asked)).retraction
    await note("plan")
    await apply_retraction(ONE, planned.retraction_id, planned.etag, world.service, actor=OTHER)
    await world.run(planned.retraction_id)
    await note("apply")
    await undo_retraction(ONE, planned.retraction_id, world.service, actor=ADMIN)
    await world.run(planned.retraction_id)
    await note("undo")
    return counted


async def test_a_clean_conversation_adds_its_event_to_a_plan_and_nothing_to_an_undo() -> None:
    few, many = await costs(2), await costs(12)
    # The events of the user are read once, and of the replays those of the conversation alone.
    assert {step: many[step] - few[step] for step in few} == {"plan": 10, "apply": 10, "undo": 0}
    assert few["plan"] <= 32
    assert few["apply"] <= 134
    assert few["undo"] <= 96


@pytest.mark.parametrize("retracts", [False, True])
async def test_nothing_that_is_written_or_assembled_reads_what_retractions_store(*, retracts: bool) -> None:
    world = await prepared(0)
    if retracts:
        await world.applied()
    calls = StorageCalls(world.service)
    await world.live("Speaks slowly")
    command = AssembleContext(scope=ONE, actor=ACTOR, profile_id=SPOKEN, explicit_ids={})
    await assemble_context(command, world.service)
    await drain(world.service)
    of_retractions = [name for _, name in calls.made if "/retractions/" in name or "/withdrawn/" in name]
    assert of_retractions == []
    calls.clear()
    await world.say("c3")
    await drain(world.service)
    # A turn or snapshot reads the register of closed sources once, also if there is none.
    read = Counter(name for _, name in calls.made if "/retractions/" in name or "/withdrawn/" in name)
    assert read == {f"{ONE.prefix}withdrawn/sources.json": 1}
    assert storage_of(world.service.records).names(f"{ONE.prefix}retractions/") == [] or retracts
