"""One tenant's part of the index becomes what is stored of it, and nobody else's part is touched."""

from datetime import timedelta

import pytest

from memnet.domain.core.scope import StorageETag, UserScope
from memnet.domain.events.event_search import IndexDocument
from memnet.domain.events.index_layout import Phase, Reindexing, dump_reindexing, load_reindexing, tenant_record
from memnet.operations.events import reindex_tenant as module
from memnet.operations.events.reindex_tenant import reindex_tenant
from memnet.ports import StoreConflict
from tests.domain.event_samples import SCOPE, stored_event
from tests.operations.event_scenario import World
from tests.services import arguments, service_of

OTHER = UserScope("t2", "u1")
NOW = "2026-01-01T00:00:00.000000Z"


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 2)
    monkeypatch.setattr(module, "DOCUMENTS", 2)


async def begun(world: World, **members: object) -> tuple[Reindexing, StorageETag]:
    record = Reindexing("r1", Phase.COPYING, NOW, NOW, **members)  # type: ignore[arg-type]
    return record, await world.register.write(tenant_record("t1"), dump_reindexing(record), replaces=None)


async def result(world: World) -> Reindexing:
    stored = await world.register.read(tenant_record("t1"))
    assert stored is not None
    return load_reindexing(stored.data)


async def test_what_is_missing_comes_and_what_nobody_stored_goes() -> None:
    world = World()
    for number in range(3):
        await world.write(f"e{number}")
    await world.write("theirs", scope=OTHER)
    await world.store("missing1", "missing2")
    name = (await world.layout()).serving.name
    orphans = [stored_event(f"orphan{n}") for n in range(5)]
    await world.index.upload(name, [IndexDocument(orphan) for orphan in orphans])
    foreign = stored_event("orphan", scope=OTHER)
    await world.index.upload(name, [IndexDocument(foreign), IndexDocument(stored_event("e1", digest="changed"))])

    world.clock.advance(timedelta(seconds=5))
    await reindex_tenant("t1", *await begun(world), **arguments(**world.ports))
    record = await result(world)
    assert (record.phase, record.events, record.waiting, record.removed) == (Phase.DONE, 5, 0, 5)
    assert record.updated_at > record.started_at
    assert (await world.verify("t1")).agrees
    assert (await world.verify("t2")).orphaned == [foreign.key.index_key]


async def test_it_goes_on_from_where_it_was() -> None:
    world = World()
    await world.write("e0")
    stored = await world.store(*(f"m{n}" for n in range(4)))
    cursor = (await world.events.list("t1", limit=3, cursor=None)).next_cursor
    await reindex_tenant("t1", *await begun(world, cursor=cursor, events=3), **arguments(**world.ports))
    assert (await result(world)).events == 5
    assert (await world.verify("t1")).missing == [event.key for event in stored[:2]]


async def test_what_cannot_be_indexed_is_marked() -> None:
    world = World()
    await world.write("e0")
    (stored,) = await world.store("e1")
    world.index.refused = {stored.key.index_key}
    await reindex_tenant("t1", *await begun(world), **arguments(**world.ports))
    assert (await result(world)).waiting == 1
    assert await world.marks() == [stored.key]


async def test_a_lost_index_is_built_anew_for_everybody() -> None:
    world = World()
    await world.write("e0")
    await world.write("theirs", scope=OTHER)
    await world.index.drop((await world.layout()).serving.name)
    await reindex_tenant("t1", *await begun(world), **arguments(**world.ports))
    assert (await result(world)).done
    assert (await world.verify()).agrees


async def test_it_stops_when_another_has_taken_over() -> None:
    world = World()
    await world.write("e0", scope=SCOPE)
    record, tag = await begun(world)
    await world.register.write(tenant_record("t1"), dump_reindexing(record), replaces=tag)
    with pytest.raises(StoreConflict):
        await reindex_tenant("t1", record, tag, service_of(**world.ports))
