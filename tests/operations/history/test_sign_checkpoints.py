"""Heads: signed for one user and for all, and the newest one read."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from memnet.domain.core.errors import HistoryCorrupt, VaultUnavailable
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.history.checkpoint import checkpoint_key
from memnet.operations.history import sign_checkpoints as module
from memnet.operations.history.sign_checkpoints import SignReport
from tests.operations.head_scenario import HeadWorld
from tests.operations.service_scenario import ALPHA, SCOPE

# The checkpoints of all users: a failure for one user does not affect the others.


USERS = [UserScope("t1", "u1"), UserScope("t1", "u2"), UserScope("t2", "u1")]


def document(scope: UserScope, name: str = "alpha.json") -> DocumentKey:
    return DocumentKey(scope, "projects", name)


@pytest.fixture
async def world() -> AsyncIterator[Any]:
    made = HeadWorld()
    for scope in USERS:
        for name in ("alpha.json", "beta.json", "gamma.json"):
            await made.changed(document(scope, name), 1)
    yield made
    await made.background.drain()


async def test_every_user_is_signed_for_once(world: Any) -> None:
    assert await world.sign_all() == SignReport(users=3, signed=3)
    for scope in USERS:
        head = await world.newest(scope)
        assert [one.path for one in head.documents] == ["alpha.json", "beta.json", "gamma.json"]
    assert await world.sign_all() == SignReport(users=3, unchanged=3)


async def test_who_has_not_changed_costs_three_calls(world: Any) -> None:
    await world.sign_all()
    await world.changed(document(USERS[1]), 1)
    world.documents.calls.clear()
    world.records.calls.clear()
    assert await world.sign_all() == SignReport(users=3, signed=1, unchanged=2)
    assert world.documents.calls == {"list": 3, "get": 3}
    assert world.records.calls == {"list": 3, "read": 3, "write": 1}


async def test_who_fails_does_not_stop_the_others(world: Any, caplog: pytest.LogCaptureFixture) -> None:
    await world.sign_all()
    for scope in USERS:
        await world.changed(document(scope), 2)
    await world.cut(document(USERS[0], "beta.json"), 1)
    await world.put_back(document(USERS[0], "beta.json"), None)
    world.records.fate = lambda key: "lost" if key.scope == USERS[1] else None
    with caplog.at_level(logging.ERROR):
        assert await world.sign_all() == SignReport(users=3, signed=1, postponed=1, broken=1)
    [told] = caplog.records
    assert told.getMessage() == "history_verification_failed"
    assert vars(told)["user"] == USERS[0].prefix
    world.records.fate = lambda key: None
    assert await world.sign_all() == SignReport(users=3, signed=1, unchanged=1, broken=1)


async def test_a_user_whose_documents_are_all_gone_is_noticed(world: Any, caplog: pytest.LogCaptureFixture) -> None:
    await world.sign_all()
    for name in ("alpha.json", "beta.json", "gamma.json"):
        await world.put_back(document(USERS[1], name), None)
    with caplog.at_level(logging.ERROR):
        assert await world.sign_all() == SignReport(users=3, unchanged=2, broken=1)
    assert [vars(logged)["user"] for logged in caplog.records] == [USERS[1].prefix]


async def test_without_a_key_it_says_so_before_it_looks(world: Any) -> None:
    world.signing.down = True
    with pytest.raises(VaultUnavailable):
        await world.sign_all()
    assert world.records.calls == {}


# The newest head, whatever else lies there.


@pytest.fixture
async def world_read() -> AsyncIterator[Any]:
    made = HeadWorld()
    await made.changed(ALPHA, 1)
    yield made
    await made.background.drain()


async def test_it_is_the_last_over_many_pages(world_read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHECKPOINTS_PAGE", 2)
    for number in range(1, 6):
        await world_read.sign()
        assert (await world_read.newest()).sequence == number
        await world_read.changed(ALPHA, 1)
    assert await world_read.newest(UserScope("t1", "u2")) is None


@pytest.mark.parametrize("damage", ["nonsense", "another number", "another user"])
async def test_a_blob_that_is_not_the_checkpoint_of_its_name_is_reported(world_read: Any, damage: Any) -> None:
    await world_read.sign()
    other = HeadWorld()
    await other.count_up(1, type(ALPHA)(UserScope("t1", "u2"), "projects", "alpha.json"))
    await other.sign(UserScope("t1", "u2"))
    own, another = await world_read.newest(), await other.newest(UserScope("t1", "u2"))
    assert another is not None
    data, place = {"nonsense": (b"{}", 1), "another number": (own.data, 2), "another user": (another.data, 1)}[damage]
    world_read.records.tamper(checkpoint_key(SCOPE, place), data)
    with pytest.raises(HistoryCorrupt) as raised:
        await world_read.newest()
    assert raised.value.details == {"head": f"{place:012d}"}
