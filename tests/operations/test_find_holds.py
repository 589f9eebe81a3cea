"""A user is covered by its own hold and by its tenant's, and by nobody else's."""

from memnet.domain.document import UserScope
from memnet.operations.find_holds import find_holds
from tests.operations.hold_world import SCOPE, HoldWorld


async def covering(world: HoldWorld, scope: UserScope = SCOPE) -> list[tuple[str, str]]:
    return [(change.covers, change.reason) for change in await find_holds(scope, holds=world.holds)]


async def test_the_user_s_own_first_then_the_tenant_s():
    world = HoldWorld()
    assert await covering(world) == []
    await world.place_on_tenant("audit")
    await world.place("case 1")
    assert await covering(world) == [("user", "case 1"), ("tenant", "audit")]
    await world.release("settled")
    assert await covering(world) == [("tenant", "audit")]
    await world.release_from_tenant("over")
    assert await covering(world) == []


async def test_neighbours_are_not_covered():
    world = HoldWorld()
    await world.place("case 1")
    await world.place_on_tenant("audit", "t2")
    # A user who is called as the tenant's own place is.
    await world.place("odd", UserScope("t3", "tenant"))
    for scope in (UserScope("t1", "u10"), UserScope("t10", "u1"), UserScope("t3", "u1")):
        assert await covering(world, scope) == []
    assert await covering(world, UserScope("t2", "u1")) == [("tenant", "audit")]
