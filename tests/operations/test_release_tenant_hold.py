"""Lifting the tenant's hold leaves those of its users."""

from memnet.operations.find_holds import find_holds
from tests.operations.hold_world import SCOPE, HoldWorld, told


async def test_those_of_users_stay():
    world = HoldWorld()
    await world.place_on_tenant("audit")
    await world.place("case 1")
    status = await world.release_from_tenant("over")
    assert (status.covering, told(status)) == ([], [("placed", "audit"), ("released", "over")])
    assert [change.reason for change in await find_holds(SCOPE, holds=world.holds)] == ["case 1"]
