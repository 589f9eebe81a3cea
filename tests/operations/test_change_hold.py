"""Every change of a hold is a record of its own, whatever happens on its way."""

import asyncio

import pytest

from memnet.domain.errors import HistoryBroken, Unavailable
from memnet.domain.hold import HoldAction, HoldKey, HoldPlace
from memnet.operations.change_hold import change_hold
from memnet.operations.tell_hold import tell_hold
from tests.operations.hold_world import HoldWorld, told

PLACE = HoldPlace("t1", "u1")


async def change(world: HoldWorld, action: HoldAction, reason: str) -> None:
    await change_hold(PLACE, action, reason, **world.ports())


@pytest.mark.parametrize("trouble", ["lost", "unconfirmed", "repeated"])
async def test_a_change_whose_fate_is_open_is_made_once_when_it_is_repeated(trouble):
    world = HoldWorld()
    world.holds.trouble = trouble
    try:
        await change(world, HoldAction.PLACED, "case 1")
    except Unavailable:
        await change(world, HoldAction.PLACED, "case 1")
    assert told(await tell_hold(PLACE, holds=world.holds)) == [("placed", "case 1")]


async def test_racing_changes_are_all_recorded_in_an_order():
    world = HoldWorld()
    await asyncio.gather(*(change(world, HoldAction.PLACED, f"case {number}") for number in range(5)))
    status = await tell_hold(PLACE, holds=world.holds)
    assert sorted(told(status)) == [("placed", f"case {number}") for number in range(5)]
    assert [change.key.number for change in status.changes] == [1, 2, 3, 4, 5]


async def test_placed_and_lifted_at_once_one_of_them_holds_and_both_are_on_record():
    world = HoldWorld()
    await change(world, HoldAction.PLACED, "case 1")
    await asyncio.gather(change(world, HoldAction.RELEASED, "settled"), change(world, HoldAction.PLACED, "case 2"))
    status = await tell_hold(PLACE, holds=world.holds)
    assert sorted(told(status)) == [("placed", "case 1"), ("placed", "case 2"), ("released", "settled")]
    assert bool(status.covering) is status.changes[-1].holds


async def test_what_cannot_be_read_is_not_taken_for_no_hold():
    world = HoldWorld()
    await world.holds.create(HoldKey(PLACE, 1), b"{}")
    for action in HoldAction:
        with pytest.raises(HistoryBroken):
            await change(world, action, "case")
