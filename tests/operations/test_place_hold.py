"""A hold says who placed it, when and why; another reason is another change."""

from datetime import timedelta

from tests.operations.hold_world import OTHER, HoldWorld, told


async def test_who_when_and_why_is_told():
    world = HoldWorld()
    status = await world.place("case 1")
    entry = {"reason": "case 1", "actor": "svc-legal"}
    at = "2026-01-01T00:00:00.000000Z"
    assert status.members() == {
        "held": True,
        "holds": [{"covers": "user", **entry, "since": at}],
        "changes": [{"action": "placed", **entry, "at": at}],
    }


async def test_again_for_the_same_reason_nothing_is_recorded():
    world = HoldWorld()
    first = await world.place("case 1")
    world.clock.advance(timedelta(days=1))
    assert await world.place("case 1", actor=OTHER) == first
    assert told(await world.place("case 2", actor=OTHER)) == [("placed", "case 1"), ("placed", "case 2")]


async def test_placed_anew_after_it_was_lifted_it_is_recorded():
    world = HoldWorld()
    await world.place("case 1")
    await world.release("settled")
    status = await world.place("case 1")
    assert told(status) == [("placed", "case 1"), ("released", "settled"), ("placed", "case 1")]
    assert status.members()["held"]
