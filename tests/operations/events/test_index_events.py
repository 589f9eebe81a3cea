"""Writes reach the index that serves and the one being built; a layout that changes meanwhile keeps the marks."""

from collections.abc import Sequence

from memnet.domain.events.event_search import IndexDocument
from memnet.domain.events.index_layout import LAYOUT, IndexVersion, Layout, dump_layout
from memnet.operations.events.index_events import index_events
from tests.domain.event_samples import stored_event
from tests.operations.event_scenario import TroubledIndex, World
from tests.services import service_of

OLD, NEW = IndexVersion("old"), IndexVersion("new")
EVENT = stored_event()


class Announcing(TroubledIndex):
    """While the first upload is under way, somebody else changes the layout."""

    def __init__(self, then: Layout) -> None:
        super().__init__()
        self.world: World | None = None
        self._then = then

    async def upload(self, name: str, documents: Sequence[IndexDocument]) -> frozenset[str]:
        refused = await super().upload(name, documents)
        if self.world is not None:
            register, self.world = self.world.register, None
            stored = await register.read(LAYOUT)
            assert stored is not None
            await register.write(LAYOUT, dump_layout(self._then), replaces=stored.storage_etag)
        return refused


async def laid_out(layout: Layout, index: TroubledIndex | None = None) -> World:
    world = World(index=index or TroubledIndex())
    for version in (OLD, NEW):
        await world.index.create(version)
    await world.register.write(LAYOUT, dump_layout(layout), replaces=None)
    return world


async def test_the_first_event_makes_the_first_index() -> None:
    world = World()
    assert await index_events([EVENT], service_of(search=world.search, ids=world.ids)) == {EVENT.key}


async def test_both_indexes_get_what_is_written_while_one_is_built() -> None:
    world = await laid_out(Layout(OLD, NEW))
    assert await index_events([EVENT], service_of(search=world.search, ids=world.ids)) == {EVENT.key}
    assert [name for name, _ in world.index.uploads] == ["old", "new"]


async def test_an_index_that_was_announced_meanwhile_keeps_the_marks() -> None:
    index = Announcing(Layout(OLD, NEW))
    world = await laid_out(Layout(OLD), index)
    index.world = world
    assert await index_events([EVENT], service_of(search=world.search, ids=world.ids)) == frozenset()
    assert await index_events([EVENT], service_of(search=world.search, ids=world.ids)) == {EVENT.key}


async def test_a_switch_to_an_index_that_was_written_as_well_does_not() -> None:
    index = Announcing(Layout(NEW))
    world = await laid_out(Layout(OLD, NEW), index)
    index.world = world
    assert await index_events([EVENT], service_of(search=world.search, ids=world.ids)) == {EVENT.key}
