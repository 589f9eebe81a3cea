"""The erasures of a tenant: those that run, and the receipts of those that are over."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from memnet.domain.core.errors import HistoryCorrupt, InvalidIdentifier, Unavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.governance.erasure import Status
from memnet.operations.governance.erasure_request import list_erasures
from tests.operations.erasure_scenario import OTHER, ErasureWorld
from tests.operations.retention_scenario import Between

USERS = [UserScope("t1", f"user-{number}") for number in range(4)]


@pytest.fixture
async def world() -> AsyncIterator[ErasureWorld]:
    made = ErasureWorld()
    yield made
    await made.services.background.drain()


async def listed(world: ErasureWorld, tenant_id: str = "t1") -> tuple[list[str], list[str]]:
    running, over = await list_erasures(tenant_id, world.services)
    return [one.erasure_id for one in running], [receipt.members["erasure_id"] for receipt in over]


async def test_of_nobody_there_is_none(world: Any) -> None:
    assert await listed(world) == ([], [])


async def test_the_oldest_runs_first_and_the_newest_is_over_first(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memnet.operations.governance.erasure_request.PAGE", 2)
    ids = []
    for scope in reversed(USERS):
        ids.append((await world.request(scope=scope)).erasure_id)
        world.advance(timedelta(seconds=1))
    await world.request(scope=OTHER)
    assert await listed(world) == (ids, [])
    world.advance()
    for scope in reversed(USERS[1:]):
        await world.run(scope)
        world.advance(timedelta(seconds=1))
    assert await listed(world) == (ids[3:], list(reversed(ids[:3])))
    running, over = await list_erasures("t1", world.services)
    assert [one.scope for one in running] == [USERS[0]]
    assert [receipt.is_of(scope) for receipt, scope in zip(over, USERS[1:], strict=True)] == [True] * 3
    assert {receipt.status for receipt in over} == {Status.COMPLETE}


async def test_another_tenant_s_are_not_told(world: Any) -> None:
    await world.request(scope=OTHER)
    assert await listed(world) == ([], [])
    assert len((await listed(world, "t10"))[0]) == 1
    world.advance()
    await world.run(OTHER)
    assert await listed(world) == ([], [])
    assert len((await listed(world, "t10"))[1]) == 1


async def test_one_that_ends_while_they_are_listed_is_told_as_over(world: Any) -> None:
    erasure_id = (await world.request(scope=USERS[0])).erasure_id
    world.advance()

    async def end() -> None:
        await world.run(USERS[0])

    running, over = await list_erasures("t1", world.erasing(Between("erasures.read", end)))
    assert running == []
    assert [receipt.members["erasure_id"] for receipt in over] == [erasure_id]


async def test_one_that_cannot_be_read_is_told(world: Any) -> None:
    tag = await world.services.erasures.write(USERS[0], b"{}", replaces=None)
    with pytest.raises(HistoryCorrupt):
        await listed(world)
    await world.services.erasures.lift(USERS[0], tag=tag)
    await world.services.erasures.create_receipt("t1", "e1", b"{}")
    with pytest.raises(HistoryCorrupt):
        await listed(world)


async def test_a_storage_that_does_not_answer_and_a_tenant_that_is_none_are_told(world: Any) -> None:
    async def fails(name: str, call: Any) -> None:
        raise Unavailable(dependency="blob_storage")

    with pytest.raises(Unavailable):
        await list_erasures("t1", world.erasing(fails))
    for tenant in ("", "..", "t1/x"):
        with pytest.raises(InvalidIdentifier):
            await list_erasures(tenant, world.services)
