"""A tenant's reindexing: started once, resumed when stalled, run by a worker or, without a queue, by this process."""

import asyncio
from datetime import datetime, timedelta

import pytest

from memnet.domain.core.errors import InvalidIdentifier, Unavailable
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import UserScope
from memnet.domain.events.event_search import IndexDocument
from memnet.domain.events.index_layout import (
    STALLED_AFTER,
    Phase,
    Reindexing,
    ReindexState,
    dump_reindexing,
    tenant_record,
)
from memnet.operations.events import reindex_events as module
from memnet.operations.events.reindex_events import get_reindexing, reindex_events, resume_reindexing
from tests.domain.event_samples import stored_event
from tests.operations.event_scenario import World
from tests.services import service_of

OTHER = UserScope("t2", "u1")
NOW = "2026-01-01T00:00:00.000000Z"


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 2)
    monkeypatch.setattr(module, "DOCUMENTS", 2)


class Sent:
    """A queue that keeps the jobs that are sent to it, or is down."""

    def __init__(self, *, down: bool = False) -> None:
        self.jobs: list[tuple[Job, int]] = []
        self._down = down

    async def send(self, job: Job, *, attempt: int = 0, due: datetime | None = None) -> None:
        if self._down:
            raise Unavailable(dependency="service_bus")
        self.jobs.append((job, attempt))

    async def ping(self) -> None:
        """Do nothing."""


async def start(world: World, queue: Sent | None = None) -> Reindexing:
    queue = queue or Sent(down=True)
    return await reindex_events("t1", service_of(background=world.background, queue=queue, **world.ports))


async def record_of(world: World) -> Reindexing:
    return await get_reindexing("t1", search=world.search)


async def store_record(world: World, record: Reindexing) -> None:
    stored = await world.register.read(tenant_record("t1"))
    tag = None if stored is None else stored.storage_etag
    await world.register.write(tenant_record("t1"), dump_reindexing(record), replaces=tag)


async def run(world: World, **members: object) -> Reindexing:
    """Run a reindexing from a record with these members to its end."""
    await store_record(world, Reindexing("r1", Phase.COPYING, NOW, NOW, **members))  # type: ignore[arg-type]
    assert await resume_reindexing("t1", "r1", service_of(**world.ports))
    return await record_of(world)


@pytest.mark.parametrize("tenant", ["../layout", "a/b", ""])
async def test_an_invalid_tenant_is_refused(tenant: str) -> None:
    world = World()
    with pytest.raises(InvalidIdentifier):
        await get_reindexing(tenant, search=world.search)
    with pytest.raises(InvalidIdentifier):
        await reindex_events(tenant, service_of(background=world.background, queue=Sent(), **world.ports))


async def test_without_a_queue_this_process_reindexes_in_the_background() -> None:
    world = World()
    await world.store("e0", "e1")
    record = await start(world)
    assert record.state(world.clock.now()) is ReindexState.RUNNING
    await world.background.drain()
    done = await record_of(world)
    assert (done.reindex_id, done.done, done.events) == (record.reindex_id, True, 2)
    assert (await world.verify("t1")).agrees
    assert (await start(world)).reindex_id != record.reindex_id
    await world.background.drain()


async def test_concurrent_requests_start_one_reindexing() -> None:
    world = World()
    await world.store("e0")
    records = await asyncio.gather(*(start(world) for _ in range(5)))
    assert len({record.reindex_id for record in records}) == 1
    await world.background.drain()
    assert (await record_of(world)).done


@pytest.mark.parametrize("stalled", [True, False])
async def test_a_running_one_is_returned_and_a_stalled_one_resumed(stalled: bool) -> None:
    world = World()
    await world.store("e0", "e1", "e2")
    cursor = (await world.events.list("t1", limit=1, cursor=None)).next_cursor
    await store_record(world, Reindexing("r1", Phase.COPYING, NOW, NOW, cursor=cursor, events=1))
    world.clock.advance(STALLED_AFTER + timedelta(seconds=1 if stalled else -1))
    assert (await start(world)).reindex_id == "r1"
    await world.background.drain()
    after = await record_of(world)
    assert (after.done, after.events) == ((True, 3) if stalled else (False, 1))


async def test_a_worker_runs_the_job_once() -> None:
    world, queue = World(), Sent()
    await world.store("e0", "e1")
    record = await start(world, queue)
    assert queue.jobs == [(Job(JobKind.REINDEX, "t1", None, record.reindex_id), 0)]
    await world.background.drain()
    assert not (await record_of(world)).done
    assert not await resume_reindexing("t1", "another", service_of(**world.ports))
    assert not await resume_reindexing("t2", record.reindex_id, service_of(**world.ports))
    assert await resume_reindexing("t1", record.reindex_id, service_of(**world.ports))
    assert (await world.verify("t1")).agrees
    assert not await resume_reindexing("t1", record.reindex_id, service_of(**world.ports))


async def test_a_stalled_one_is_sent_as_another_message() -> None:
    world, queue = World(), Sent()
    await world.store("e0")
    await start(world, queue)
    world.clock.advance(STALLED_AFTER * 2)
    assert (await record_of(world)).state(world.clock.now()) is ReindexState.STALLED
    await start(world, queue)
    assert len(set(queue.jobs)) == 2


async def test_missing_events_are_indexed_and_orphans_deleted_for_this_tenant_only() -> None:
    world = World()
    for number in range(3):
        await world.write(f"e{number}")
    await world.write("theirs", scope=OTHER)
    await world.store("missing1", "missing2")
    name = (await world.layout()).serving.name
    await world.index.upload(name, [IndexDocument(stored_event(f"orphan{n}")) for n in range(5)])
    foreign = stored_event("orphan", scope=OTHER)
    await world.index.upload(name, [IndexDocument(foreign), IndexDocument(stored_event("e1", digest="changed"))])
    world.clock.advance(timedelta(seconds=5))
    record = await run(world)
    assert (record.phase, record.events, record.waiting, record.removed) == (Phase.DONE, 5, 0, 5)
    assert record.updated_at > record.started_at
    assert (await world.verify("t1")).agrees
    assert (await world.verify("t2")).orphaned == [foreign.key.index_key]


async def test_a_missing_index_is_built_for_all_tenants() -> None:
    world = World()
    await world.write("e0")
    await world.write("theirs", scope=OTHER)
    await world.index.drop((await world.layout()).serving.name)
    assert (await run(world)).done
    assert (await world.verify()).agrees


async def test_it_stops_when_another_process_has_resumed_it() -> None:
    world = World()
    await world.write("e0")
    record = Reindexing("r1", Phase.COPYING, NOW, NOW)
    await store_record(world, record)
    get = world.events.get

    async def resumed_elsewhere(key):  # type: ignore[no-untyped-def]
        await store_record(world, record.advanced("2026-01-01T00:01:00.000000Z"))
        return await get(key)

    world.events.get = resumed_elsewhere  # type: ignore[method-assign]
    assert not await resume_reindexing("t1", "r1", service_of(**world.ports))
    assert not (await record_of(world)).done
