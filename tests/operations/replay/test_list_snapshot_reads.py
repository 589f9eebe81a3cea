"""Accesses are listed page by page, in the order of their times, one user's alone."""

from datetime import UTC, datetime, timedelta

import orjson
import pytest

from memnet.domain.core.errors import InvalidCursor
from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.replay.snapshot_access_log import access_of
from memnet.operations.replay.list_snapshot_reads import list_snapshot_reads
from tests.domain.snapshot_samples import SCOPE, snapshot
from tests.operations.vault_scenario import VaultWorld

NOON = datetime(2026, 2, 15, 12, tzinfo=UTC)
OTHER = UserScope("t1", "u2")


@pytest.fixture
async def world() -> VaultWorld:
    """With five readings of one user's snapshot, the newest written first, and one of another user's."""
    made = VaultWorld()
    for minute in reversed(range(5)):
        access = access_of(snapshot(), Actor(f"a{minute}", frozenset()), NOON + timedelta(minutes=minute), "x")
        await made.records.write(access.key, access.dump(), replaces=None)
    access = access_of(snapshot(scope=OTHER), Actor("b", frozenset()), NOON, "x")
    await made.records.write(access.key, access.dump(), replaces=None)
    return made


async def principals(world: VaultWorld, scope: UserScope, limit: int) -> list[str]:
    found: list[bytes] = []
    cursor: str | None = None
    while True:
        page = await list_snapshot_reads(scope, limit=limit, cursor=cursor, records=world.records)
        assert len(page.items) <= limit
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return [orjson.loads(record)["principal"] for record in found]


@pytest.mark.parametrize("limit", [1, 2, 5, 100])
async def test_they_are_in_the_order_of_their_times(world: VaultWorld, limit: int) -> None:
    assert await principals(world, SCOPE, limit) == ["a0", "a1", "a2", "a3", "a4"]


async def test_they_are_one_users_alone(world: VaultWorld) -> None:
    assert await principals(world, OTHER, 10) == ["b"]
    assert await principals(world, UserScope("t2", "u1"), 10) == []


async def test_a_cursor_of_another_list_is_refused(world: VaultWorld) -> None:
    cursor = (await list_snapshot_reads(SCOPE, limit=1, cursor=None, records=world.records)).next_cursor
    with pytest.raises(InvalidCursor):
        await list_snapshot_reads(OTHER, limit=1, cursor=cursor, records=world.records)
