"""The status and the list of erasures."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from memnet.domain.core.errors import ErasureNotFound, HistoryCorrupt
from memnet.domain.core.scope import UserScope
from memnet.domain.governance import erasure as erasures
from memnet.domain.governance.erasure import Status
from memnet.operations.governance.erase_user import Erased
from memnet.operations.governance.erasure_request import list_erasures
from tests.operations.erasure_scenario import OTHER, U1, U10, ErasureWorld
from tests.operations.retention_scenario import Between

THEN = "2026-01-01T00:00:00.000000Z"


@pytest.fixture
async def world() -> AsyncIterator[ErasureWorld]:
    made = ErasureWorld()
    await made.live(U1)
    yield made
    await made.drain()


async def finished(world: ErasureWorld, key: str = "forget-1", scope: UserScope = U1) -> str:
    """The id of an erasure that has its receipt."""
    erasure_id = (await world.request(key, scope)).erasure_id
    world.advance()
    assert await world.run(scope) is Erased.FINISHED
    return erasure_id


async def test_the_status_of_a_running_erasure(world: Any) -> None:
    requested = await world.request()
    assert await world.status(requested.erasure_id) == requested
    await world.run()
    reported = await world.status(requested.erasure_id)
    assert (reported.status, reported.accepted_at, reported.receipt) == (Status.RUNNING, THEN, None)
    assert reported.settled_at == "2026-01-01T00:16:00.000000Z"
    stored = await world.services.erasures.read(U1)
    assert reported.removed == erasures.load(U1, stored.data).removed
    assert reported.removed["keys"] == 1


async def test_it_is_running_until_the_fence_is_deleted(world: Any) -> None:
    erasure_id = (await world.request()).erasure_id
    world.advance()
    seen: list[Status] = []

    async def look() -> None:
        assert await world.services.erasures.read_receipt("t1", erasure_id) is not None
        seen.append((await world.status(erasure_id)).status)

    assert await world.run(watch=Between("erasures.lift", look)) is Erased.FINISHED
    assert seen == [Status.RUNNING]
    assert (await world.status(erasure_id)).status is Status.COMPLETE


async def test_an_older_erasure_is_found_while_a_newer_one_runs(world: Any) -> None:
    first = await finished(world)
    await world.patch(U1, "afresh")
    second = (await world.request("forget-2")).erasure_id
    assert (await world.status(first)).status is Status.COMPLETE
    assert (await world.status(second)).status is Status.RUNNING


async def test_an_erasure_of_another_user_is_not_found(world: Any) -> None:
    running = (await world.request(scope=U10)).erasure_id
    ended = await finished(world, scope=U1)
    for scope, erasure_id in (
        (U1, running),
        (U10, ended),
        (OTHER, ended),
        (OTHER, running),
        (U1, "0" * 32),
        (UserScope("t1", "unknown"), ended),
        (UserScope("t1", "unknown"), running),
    ):
        with pytest.raises(ErasureNotFound):
            await world.status(erasure_id, scope)
    assert (await world.status(running, U10)).status is Status.RUNNING


async def test_a_corrupt_record_or_receipt_is_reported(world: Any) -> None:
    requested = await world.request()
    stored = await world.services.erasures.read(U1)
    await world.services.erasures.write(U1, b"{}", replaces=stored.storage_etag)
    await world.services.erasures.create_receipt("t1", "e1", b"{}")
    for erasure_id in (requested.erasure_id, "e1"):
        with pytest.raises(HistoryCorrupt):
            await world.status(erasure_id)


USERS = [UserScope("t1", f"user-{number}") for number in range(4)]


@pytest.fixture
async def empty() -> AsyncIterator[ErasureWorld]:
    made = ErasureWorld()
    yield made
    await made.drain()


async def listed(empty: ErasureWorld, tenant_id: str = "t1") -> tuple[list[str], list[str]]:
    running, ended = await list_erasures(tenant_id, empty.services)
    return [one.erasure_id for one in running], [receipt.members["erasure_id"] for receipt in ended]


async def test_running_erasures_are_listed_oldest_first_and_receipts_newest_first(
    empty: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memnet.operations.governance.erasure_request.PAGE", 2)
    ids = []
    for scope in reversed(USERS):
        ids.append((await empty.request(scope=scope)).erasure_id)
        empty.advance(timedelta(seconds=1))
    await empty.request(scope=OTHER)
    assert await listed(empty) == (ids, [])
    empty.advance()
    for scope in reversed(USERS[1:]):
        await empty.run(scope)
        empty.advance(timedelta(seconds=1))
    assert await listed(empty) == (ids[3:], list(reversed(ids[:3])))
    running, ended = await list_erasures("t1", empty.services)
    assert [one.scope for one in running] == [USERS[0]]
    assert [receipt.is_of(scope) for receipt, scope in zip(ended, USERS[1:], strict=True)] == [True] * 3
    assert {receipt.status for receipt in ended} == {Status.COMPLETE}


async def test_an_erasure_that_ends_during_the_listing_is_listed_once(empty: Any) -> None:
    erasure_id = (await empty.request(scope=USERS[0])).erasure_id
    empty.advance()

    async def end() -> None:
        await empty.run(USERS[0])

    running, ended = await list_erasures("t1", empty.erasing(Between("erasures.read", end)))
    assert running == []
    assert [receipt.members["erasure_id"] for receipt in ended] == [erasure_id]


async def test_a_corrupt_erasure_makes_the_list_fail(empty: Any) -> None:
    tag = await empty.services.erasures.write(USERS[0], b"{}", replaces=None)
    with pytest.raises(HistoryCorrupt):
        await listed(empty)
    await empty.services.erasures.lift(USERS[0], tag=tag)
    await empty.services.erasures.create_receipt("t1", "e1", b"{}")
    with pytest.raises(HistoryCorrupt):
        await listed(empty)
