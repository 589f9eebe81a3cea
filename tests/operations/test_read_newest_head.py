"""The newest head, whatever else lies there."""

import pytest

from memnet.domain.document import UserScope
from memnet.domain.errors import HistoryBroken
from memnet.domain.head import head_key
from memnet.operations import read_newest_head as module
from tests.operations.head_world import HeadWorld
from tests.operations.service import ALPHA, SCOPE


@pytest.fixture
async def world():
    made = HeadWorld()
    await made.changed(ALPHA, 1)
    yield made
    await made.background.drain()


async def test_nothing_was_signed(world):
    assert await world.newest() is None


async def test_it_is_the_last_over_many_pages(world, monkeypatch):
    monkeypatch.setattr(module, "PAGE", 2)
    for number in range(1, 6):
        await world.sign()
        assert (await world.newest()).sequence == number
        await world.changed(ALPHA, 1)
    assert await world.newest(UserScope("t1", "u2")) is None


@pytest.mark.parametrize("damage", ["nonsense", "another number", "another user"])
async def test_what_is_no_head_of_this_place_is_told(world, damage):
    await world.sign()
    other = HeadWorld()
    await other.count_up(1, type(ALPHA)(UserScope("t1", "u2"), "projects", "alpha.json"))
    await other.sign(UserScope("t1", "u2"))
    data, place = {
        "nonsense": (b"{}", 1),
        "another number": ((await world.newest()).data, 2),
        "another user": ((await other.newest(UserScope("t1", "u2"))).data, 1),
    }[damage]
    world.records.tamper(head_key(SCOPE, place), data)
    with pytest.raises(HistoryBroken) as raised:
        await world.newest()
    assert raised.value.details == {"head": f"{place:012d}"}
