"""A reindexing is started once, and a stalled one resumed; the broker is down, so this process does it."""

import asyncio
from datetime import timedelta

import pytest

from memnet.domain.core.errors import InvalidIdentifier
from memnet.domain.events.index_layout import (
    STALLED_AFTER,
    Phase,
    Reindexing,
    ReindexState,
    dump_reindexing,
    tenant_record,
)
from memnet.operations.events.get_reindexing import get_reindexing
from memnet.operations.events.reindex_events import reindex_events
from tests.operations.event_scenario import World
from tests.operations.replay_scenario import DownQueue
from tests.services import service_of

NOW = "2026-01-01T00:00:00.000000Z"


async def start(world: World) -> Reindexing:
    return await reindex_events("t1", service_of(background=world.background, queue=DownQueue(), **world.ports))


async def test_it_runs_behind_the_answer() -> None:
    world = World()
    await world.store("e0", "e1")
    record = await start(world)
    assert record.state(world.clock.now()) is ReindexState.RUNNING
    await world.background.drain()
    done = await get_reindexing("t1", search=world.search)
    assert (done.reindex_id, done.done, done.events) == (record.reindex_id, True, 2)
    assert (await world.verify("t1")).agrees
    assert (await start(world)).reindex_id != record.reindex_id
    await world.background.drain()


async def test_many_at_once_are_one() -> None:
    world = World()
    await world.store("e0")
    records = await asyncio.gather(*(start(world) for _ in range(5)))
    assert len({record.reindex_id for record in records}) == 1
    await world.background.drain()
    assert (await get_reindexing("t1", search=world.search)).done


@pytest.mark.parametrize("stalled", [True, False])
async def test_one_that_is_under_way_goes_on_and_one_that_stalled_is_resumed(stalled: bool) -> None:
    world = World()
    await world.store("e0", "e1", "e2")
    cursor = (await world.events.list("t1", limit=1, cursor=None)).next_cursor
    record = Reindexing("r1", Phase.COPYING, NOW, NOW, cursor=cursor, events=1)
    await world.register.write(tenant_record("t1"), dump_reindexing(record), replaces=None)
    world.clock.advance(STALLED_AFTER + timedelta(seconds=1 if stalled else -1))
    assert (await start(world)).reindex_id == "r1"
    await world.background.drain()
    after = await get_reindexing("t1", search=world.search)
    assert (after.done, after.events) == ((True, 3) if stalled else (False, 1))


async def test_a_tenant_cannot_lead_elsewhere() -> None:
    world = World()
    for tenant in ("..", "a/b", ""):
        with pytest.raises(InvalidIdentifier):
            await reindex_events(tenant, service_of(background=world.background, queue=DownQueue(), **world.ports))
