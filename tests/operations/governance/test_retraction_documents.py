"""The documents of a retraction, beside other writers."""

import asyncio

import orjson
import pytest

from memnet.operations.governance.retractions import (
    apply_retraction,
)
from tests.operations.retraction_scenario import OTHER, Retracting, texts
from tests.operations.turn_search_scenario import ONE


@pytest.fixture
async def world() -> Retracting:
    return await Retracting().prepared()


async def test_an_undo_keeps_what_was_written_since(world: Retracting) -> None:
    content = await world.content()
    retraction = await world.applied()
    await world.live("Written since")
    await world.undone(retraction.retraction_id)
    assert sorted(texts(await world.content())) == sorted([*texts(content), "Written since"])


async def test_what_is_written_after_the_plan_is_taken_back_too(world: Retracting) -> None:
    view = await world.planned()
    await world.live("Mallory again", conversation_id="c1")
    await world.live("Clean again")
    begun = await apply_retraction(ONE, view.retraction.retraction_id, view.retraction.etag, world.service, actor=OTHER)
    await world.run(begun.retraction_id)
    assert "Mallory" not in orjson.dumps(await world.content()).decode()
    assert "Clean again" in texts(await world.content())


async def test_live_writers_beside_it_lose_nothing(world: Retracting) -> None:
    view = await world.planned()
    begun = await apply_retraction(ONE, view.retraction.retraction_id, view.retraction.etag, world.service, actor=OTHER)
    writers = [world.live(f"Live {number}") for number in range(9)]
    await asyncio.gather(world.run(begun.retraction_id), *writers)
    found = texts(await world.content())
    assert {f"Live {number}" for number in range(9)} <= set(found)
    assert not [text for text in found if "Mallory" in text]
    await world.check_history()
