"""An event is complete when every index holds all of it."""

import pytest

from memnet.domain.errors import Unavailable
from memnet.domain.search_layout import IndexVersion
from memnet.operations.upload_events import upload_events
from tests.domain.event_samples import stored_event
from tests.operations.event_world import TwoNumbers, World

PLAIN, WITH_VECTORS, OTHERS = (
    IndexVersion("plain"),
    IndexVersion("vectors", "two-numbers", 2),
    IndexVersion("o", "x", 2),
)
EVENTS = [stored_event("e1", digest="slow"), stored_event("e2")]
KEYS = {event.key for event in EVENTS}


async def made(*versions: IndexVersion, embedder: TwoNumbers | None = None) -> World:
    world = World(embedder=embedder)
    for version in versions:
        await world.index.create(version)
    return world


async def test_all_go_into_every_index() -> None:
    world = await made(PLAIN, WITH_VECTORS, embedder=TwoNumbers())
    assert await upload_events(EVENTS, [PLAIN, WITH_VECTORS], search=world.search) == KEYS
    assert {d.vector is None for d in world.index._indexes["plain"].values()} == {True}
    assert [d.vector for d in world.index._indexes["vectors"].values()] == [[1.0, 0.01], [0.0, 0.01]]


async def test_what_one_index_refuses_is_not_complete() -> None:
    world = await made(PLAIN)
    world.index.refused = {EVENTS[0].key.index_key}
    assert await upload_events(EVENTS, [PLAIN], search=world.search) == {EVENTS[1].key}


@pytest.mark.parametrize("trouble", ["down", "other model", "none configured"])
async def test_without_its_vector_an_event_is_found_by_words_and_not_complete(trouble: str) -> None:
    embedder = None if trouble == "none configured" else TwoNumbers()
    version = OTHERS if trouble == "other model" else WITH_VECTORS
    world = await made(version, embedder=embedder)
    if embedder is not None:
        embedder.down = trouble == "down"
    assert await upload_events(EVENTS, [version], search=world.search) == frozenset()
    assert len(world.index._indexes[version.name]) == 2


async def test_embeddings_are_not_asked_for_an_index_without_vectors() -> None:
    embedder = TwoNumbers()
    embedder.down = True
    world = await made(PLAIN, embedder=embedder)
    assert await upload_events(EVENTS, [PLAIN], search=world.search) == KEYS


async def test_nothing_is_complete_when_an_index_is_gone() -> None:
    world = await made(PLAIN)
    assert await upload_events(EVENTS, [PLAIN, WITH_VECTORS], search=world.search) == frozenset()


async def test_a_service_that_is_down_is_unavailable() -> None:
    world = await made(PLAIN)
    world.index.down = True
    with pytest.raises(Unavailable):
        await upload_events(EVENTS, [PLAIN], search=world.search)
