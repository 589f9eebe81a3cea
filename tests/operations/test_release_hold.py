"""A lifted hold stays on record."""

from tests.operations.hold_world import HoldWorld, told


async def test_it_is_lifted_once():
    world = HoldWorld()
    await world.place("case 1")
    status = await world.release("settled")
    assert (status.members()["held"], told(status)) == (False, [("placed", "case 1"), ("released", "settled")])
    assert told(await world.release("once more")) == told(status)


async def test_where_there_is_none_nothing_is_recorded():
    assert (await HoldWorld().release("nothing")).members() == {"held": False, "holds": [], "changes": []}


async def test_the_tenant_s_goes_on_covering_the_user():
    world = HoldWorld()
    await world.place_on_tenant("audit")
    await world.place("case 1")
    status = await world.release("settled")
    assert [(hold["covers"], hold["reason"]) for hold in status.members()["holds"]] == [("tenant", "audit")]
