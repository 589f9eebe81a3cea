"""The list of replays."""

import pytest

from memnet.domain.core.errors import HistoryCorrupt, InvalidCursor
from memnet.domain.core.scope import UserScope
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.replay.replay import replay_key
from memnet.operations.replay.get_replay import get_replay
from memnet.operations.replay.list_replays import PAGE, list_replays
from tests.operations.replay_scenario import SCOPE, World


async def test_each_is_told_as_if_it_were_asked_for() -> None:
    world = World()
    job = await world.store()
    await world.replay(job)
    page = await list_replays(SCOPE, limit=10, cursor=None, records=world.records)
    assert page.items == [await get_replay(SCOPE, job.job_id, records=world.records)]
    assert page.items[0]["patches"][0]["status"] == "applied"
    assert page.next_cursor is None


async def test_another_users_are_not_among_them() -> None:
    world = World()
    await world.store()
    other = UserScope("t1", "u10")
    assert (await list_replays(other, limit=10, cursor=None, records=world.records)).items == []


async def test_pages_are_bounded_and_follow_one_another() -> None:
    world = World()
    job = await world.store()
    stored = await world.records.read(replay_key(SCOPE, job.job_id))
    assert stored is not None
    for number in range(PAGE + 2):
        data = stored.data.replace(job.job_id.encode(), f"rpl-{number:03}".encode())
        await world.records.write(ItemKey(SCOPE, ItemKind.REPLAYS, f"rpl-{number:03}"), data, replaces=None)
    first = await list_replays(SCOPE, limit=1000, cursor=None, records=world.records)
    second = await list_replays(SCOPE, limit=1000, cursor=first.next_cursor, records=world.records)
    assert (len(first.items), len(second.items), second.next_cursor) == (PAGE, 3, None)
    assert len({replay["replay_id"] for replay in (*first.items, *second.items)}) == PAGE + 3
    with pytest.raises(InvalidCursor):
        await list_replays(SCOPE, limit=10, cursor="AAAA", records=world.records)


async def test_one_that_cannot_be_read_is_no_empty_list() -> None:
    world = World()
    await world.records.write(ItemKey(SCOPE, ItemKind.REPLAYS, "rpl-1"), b"{}", replaces=None)
    with pytest.raises(HistoryCorrupt):
        await list_replays(SCOPE, limit=10, cursor=None, records=world.records)
