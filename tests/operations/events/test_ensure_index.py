"""The first index is made once, whoever comes first."""

import asyncio

from memnet.domain.events.index_layout import LAYOUT, IndexVersion, Layout, dump_layout
from memnet.operations.events.ensure_index import ensure_index
from tests.operations.event_scenario import TwoNumbers, World
from tests.services import service_of


async def test_the_first_index_is_made_with_the_configured_embeddings() -> None:
    world = World(embedder=TwoNumbers())
    layout = await ensure_index(service_of(search=world.search, ids=world.ids))
    assert (layout.serving.model, layout.serving.dimensions, layout.building) == ("two-numbers", 2, None)
    assert await world.index.list(layout.serving.name, None, limit=1, after=None) == []


async def test_what_there_is_is_kept() -> None:
    world = World()
    first = await ensure_index(service_of(search=world.search, ids=world.ids))
    assert await ensure_index(service_of(search=world.search, ids=world.ids)) == first


async def test_many_at_once_agree_on_one_and_leave_no_other() -> None:
    world = World()
    layouts = await asyncio.gather(*(ensure_index(service_of(search=world.search, ids=world.ids)) for _ in range(8)))
    assert len(set(layouts)) == 1
    assert list(world.index._indexes) == [layouts[0].serving.name]


async def test_an_index_made_with_other_embeddings_stays() -> None:
    world = World(embedder=TwoNumbers())
    layout = Layout(IndexVersion("events-old", "other", 7))
    await world.register.write(LAYOUT, dump_layout(layout), replaces=None)
    assert await ensure_index(service_of(search=world.search, ids=world.ids)) == layout
