"""All there is to know of a hold."""

import pytest

from memnet.domain.errors import HistoryBroken
from memnet.domain.hold import HoldKey, HoldPlace
from memnet.operations.list_hold_changes import list_hold_changes
from memnet.operations.tell_hold import tell_hold
from tests.operations.hold_world import HoldWorld, told


async def test_more_than_one_page(monkeypatch):
    monkeypatch.setitem(list_hold_changes.__globals__, "PAGE", 2)
    world = HoldWorld()
    for number in range(5):
        await world.place(f"case {number}")
    status = await tell_hold(HoldPlace("t1", "u1"), holds=world.holds)
    assert told(status) == [("placed", f"case {number}") for number in range(5)]
    assert [change.reason for change in status.covering] == ["case 4"]


async def test_a_change_that_cannot_be_read_is_told():
    world = HoldWorld()
    place = HoldPlace("t1", "u1")
    await world.holds.create(HoldKey(place, 1), b"{}")
    await world.holds.create(HoldKey(place, 2), b"{}")
    with pytest.raises(HistoryBroken):
        await tell_hold(place, holds=world.holds)
