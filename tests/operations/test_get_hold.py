"""Whether a user is held, by what, and what happened before."""

from memnet.operations.get_hold import get_hold
from tests.operations.hold_world import SCOPE, HoldWorld, told


async def test_none_own_and_tenant():
    world = HoldWorld()
    assert (await get_hold(SCOPE, holds=world.holds)).members() == {"held": False, "holds": [], "changes": []}
    await world.place_on_tenant("audit")
    status = await get_hold(SCOPE, holds=world.holds)
    assert ([change.covers for change in status.covering], told(status)) == (["tenant"], [])
    await world.place("case 1")
    status = await get_hold(SCOPE, holds=world.holds)
    assert [change.reason for change in status.covering] == ["case 1", "audit"]
