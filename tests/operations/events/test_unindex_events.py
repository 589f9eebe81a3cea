"""Events are taken out of every index there is."""

from typing import Any

import pytest

from memnet.domain.events.index_layout import LAYOUT, IndexVersion, Layout, dump_layout
from memnet.stores import unindex_events
from tests.operations.event_scenario import World


async def test_of_the_serving_one_and_of_the_one_being_built_and_of_none() -> None:
    world = World()
    assert await unindex_events([], search=world.search) == frozenset()
    (stored,) = await world.store("e1")
    assert await unindex_events([stored.key], search=world.search) == {stored.key}
    await world.write("e1")
    await world.write("e2")
    layout = await world.layout()
    building = IndexVersion("events-new")
    tag = (await world.register.read(LAYOUT)).storage_etag
    await world.register.write(LAYOUT, dump_layout(Layout(layout.serving, building)), replaces=tag)
    # It is announced and not made yet.
    assert await unindex_events([stored.key], search=world.search) == {stored.key}
    assert [hit.key for hit in await world.index.list(layout.serving.name, None, limit=10, after=None)] != []
    assert await world.verify() is not None
    assert stored.key.index_key not in world.index._indexes[layout.serving.name]


async def test_what_the_index_keeps_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    await world.write("e1")
    (stored,) = [event for event in await world.store("e2")]

    async def refuse(name: str, keys: Any) -> Any:
        return frozenset(keys)

    monkeypatch.setattr(world.index, "delete", refuse)
    assert await unindex_events([stored.key], search=world.search) == frozenset()
