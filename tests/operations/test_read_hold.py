"""The newest change is what holds."""

import pytest

from memnet.domain.errors import HistoryBroken
from memnet.domain.hold import HoldKey, HoldPlace
from memnet.operations.list_hold_changes import list_hold_changes
from memnet.operations.read_hold import read_hold
from tests.operations.hold_world import HoldWorld

PLACE = HoldPlace("t1", "u1")


async def test_none_then_placed_then_released(monkeypatch):
    monkeypatch.setitem(list_hold_changes.__globals__, "PAGE", 1)
    world = HoldWorld()
    assert await read_hold(PLACE, holds=world.holds) is None
    await world.place("case 1")
    assert (await read_hold(PLACE, holds=world.holds)).holds
    await world.release("settled")
    found = await read_hold(PLACE, holds=world.holds)
    assert (found.holds, found.reason, found.key.number) == (False, "settled", 2)


async def test_one_that_cannot_be_read_or_vanishes_is_no_absence():
    world = HoldWorld()
    await world.holds.create(HoldKey(PLACE, 1), b"nonsense")
    with pytest.raises(HistoryBroken):
        await read_hold(PLACE, holds=world.holds)

    async def nothing(_):
        return None

    world.holds.read = nothing
    with pytest.raises(HistoryBroken):
        await read_hold(PLACE, holds=world.holds)
