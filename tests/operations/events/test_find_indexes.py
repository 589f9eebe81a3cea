"""Every index in which a document could be, also while one is being replaced."""

from memnet.domain.events.index_layout import (
    LAYOUT,
    REBUILD,
    IndexVersion,
    Layout,
    Phase,
    Reindexing,
    dump_layout,
    dump_reindexing,
)
from memnet.operations.events.find_indexes import find_indexes
from memnet.operations.events.rebuild_index import rebuild_index
from tests.operations.event_scenario import World
from tests.services import service_of

OLD, NEW, LEFT = IndexVersion("old"), IndexVersion("new"), "left"


async def found(world: World) -> list[str]:
    return list(await find_indexes(search=world.search))


async def announced(world: World, layout: Layout, phase: Phase) -> None:
    record = Reindexing("r1", phase, "", "", NEW, (LEFT, OLD.name))
    await world.register.write(LAYOUT, dump_layout(layout), replaces=None)
    await world.register.write(REBUILD, dump_reindexing(record), replaces=None)


async def test_there_is_none_before_the_first_event() -> None:
    assert await found(World()) == []


async def test_there_is_one_while_nothing_is_built() -> None:
    world = World()
    await world.write()
    assert await found(world) == [(await world.layout()).serving.name]
    await rebuild_index(service_of(**world.ports))
    assert (await world.layout()).serving.name in await found(world)


async def test_the_one_being_built_and_what_an_abandoned_rebuild_has_left_are_among_them() -> None:
    world = World()
    await announced(world, Layout(OLD, NEW), Phase.COPYING)
    assert await found(world) == ["old", "new", "left"]


async def test_the_one_that_was_just_replaced_is_among_them() -> None:
    world = World()
    await announced(world, Layout(NEW), Phase.SWITCHED)
    assert await found(world) == ["new", "left", "old"]


async def test_it_goes_by_the_records_and_not_by_what_is_remembered() -> None:
    world = World()
    await world.write()
    await world.layout()
    stored = await world.register.read(LAYOUT)
    assert stored is not None
    await world.register.write(LAYOUT, dump_layout(Layout(OLD, NEW)), replaces=stored.storage_etag)
    assert await found(world) == ["old", "new"]


async def test_a_rebuild_between_the_two_looks_hides_nothing() -> None:
    world = World()
    await world.write()
    read = world.register.read
    before = (await world.layout()).serving.name

    async def late(name: str) -> object:
        record = await read(name)
        if name == LAYOUT:
            world.register.read = read  # type: ignore[method-assign]
            await rebuild_index(service_of(**world.ports))
        return record

    world.register.read = late  # type: ignore[method-assign,assignment]
    assert set(await found(world)) == {before, (await world.layout()).serving.name}
