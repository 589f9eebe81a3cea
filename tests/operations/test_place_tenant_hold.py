"""A hold on a tenant covers everybody in it."""

import pytest

from memnet.domain.errors import InvalidIdentifier
from tests.operations.hold_world import HoldWorld, told


async def test_who_when_and_why_is_told():
    world = HoldWorld()
    status = await world.place_on_tenant("audit")
    assert [change.covers for change in status.covering] == ["tenant"]
    assert told(await world.place_on_tenant("audit")) == [("placed", "audit")]


async def test_a_tenant_is_one_identifier():
    with pytest.raises(InvalidIdentifier):
        await HoldWorld().place_on_tenant("audit", "../t1")
