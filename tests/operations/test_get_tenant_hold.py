"""Whether a whole tenant is held."""

from memnet.operations.get_tenant_hold import get_tenant_hold
from tests.operations.hold_world import HoldWorld


async def test_a_hold_on_a_user_is_none_on_the_tenant():
    world = HoldWorld()
    await world.place("case 1")
    assert not (await get_tenant_hold("t1", holds=world.holds)).members()["held"]
    await world.place_on_tenant("audit")
    assert (await get_tenant_hold("t1", holds=world.holds)).members()["held"]
