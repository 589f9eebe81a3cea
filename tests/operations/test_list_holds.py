"""What is held in a tenant."""

import pytest

from memnet.domain.document import UserScope
from memnet.domain.errors import InvalidIdentifier
from memnet.operations.list_holds import list_holds
from tests.operations.hold_world import HoldWorld


async def test_those_in_force_of_one_tenant(monkeypatch):
    monkeypatch.setitem(list_holds.__globals__, "PAGE", 2)
    world = HoldWorld()
    for user in ("u3", "u1", "u2"):
        await world.place(f"case of {user}", UserScope("t1", user))
    await world.release("settled", UserScope("t1", "u2"))
    await world.place_on_tenant("audit")
    await world.place("elsewhere", UserScope("t2", "u1"))
    found = await list_holds("t1", holds=world.holds)
    assert [(change.key.place.user_id, change.reason) for change in found] == [
        (None, "audit"),
        ("u1", "case of u1"),
        ("u3", "case of u3"),
    ]
    assert await list_holds("t3", holds=world.holds) == []


async def test_a_tenant_is_one_identifier():
    with pytest.raises(InvalidIdentifier):
        await list_holds("../t1", holds=HoldWorld().holds)
