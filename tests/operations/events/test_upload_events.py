"""An event is complete when every index holds all of it."""

from collections.abc import Awaitable, Callable

import pytest

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.events.index_layout import IndexVersion
from memnet.operations.events import upload_events as module
from memnet.operations.events.upload_events import upload_events
from memnet.stores import Blobs, ErasureStore
from tests.domain.event_samples import SCOPE, stored_event
from tests.operations.event_scenario import TwoNumbers, World

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


OTHER, STRANGER = UserScope("t1", "u2"), UserScope("t2", "u1")


class CountedFences(ErasureStore):
    """Counts the looks, and may be down; `then` is called before one."""

    down = False
    then: Callable[[], Awaitable[object]] | None = None

    def __init__(self, blobs: Blobs) -> None:
        super().__init__(blobs)
        self.looks: list[object] = []

    async def check(self, scope: UserScope) -> None:
        await self._look(scope)
        await super().check(scope)

    async def erasing(self, tenant_id: str | None) -> frozenset[UserScope]:
        await self._look(tenant_id)
        return await super().erasing(tenant_id)

    async def _look(self, place: object) -> None:
        self.looks.append(place)
        if self.down:
            raise Unavailable(dependency="blob_storage")
        if self.then is not None:
            await self.then()


async def fenced(*versions: IndexVersion, embedder: TwoNumbers | None = None) -> tuple[World, CountedFences]:
    world = await made(*versions, embedder=embedder)
    world.fences = fences = CountedFences(world.fences._blobs)
    return world, fences


async def test_the_events_of_a_user_who_is_erased_are_left_out_and_keep_their_marks() -> None:
    world, fences = await fenced(PLAIN)
    await fences.write(SCOPE, b"{}", replaces=None)
    theirs = [stored_event("e1", scope=scope) for scope in (OTHER, STRANGER)]
    stored = [*EVENTS, *theirs]
    assert await upload_events(stored, [PLAIN], search=world.search) == {event.key for event in theirs}
    assert set(world.index._indexes["plain"]) == {event.key.index_key for event in theirs}
    assert await upload_events(EVENTS, [PLAIN], search=world.search) == frozenset()
    assert set(world.index._indexes["plain"]) == {event.key.index_key for event in theirs}


@pytest.mark.parametrize(
    ("scopes", "looks"),
    [((SCOPE,), [SCOPE]), ((SCOPE, OTHER), ["t1"]), ((SCOPE, STRANGER), [None])],
    ids=["one user", "one tenant", "several tenants"],
)
async def test_there_is_one_look_for_each_upload(scopes: tuple[UserScope, ...], looks: list[object]) -> None:
    world, fences = await fenced(PLAIN, OTHERS)
    stored = [stored_event(f"e{n}", scope=scope) for n in range(20) for scope in scopes]
    await upload_events(stored, [PLAIN, OTHERS], search=world.search)
    assert fences.looks == looks * 2


async def test_a_fence_that_is_put_up_between_two_indexes_counts_for_the_second() -> None:
    world, fences = await fenced(PLAIN, OTHERS)

    async def put_up() -> None:
        if len(fences.looks) == 2:
            await fences.write(SCOPE, b"{}", replaces=None)

    fences.then = put_up
    await upload_events(EVENTS, [PLAIN, OTHERS], search=world.search)
    assert [len(index) for index in world.index._indexes.values()] == [2, 0]


async def test_nothing_is_uploaded_while_the_fences_cannot_be_seen() -> None:
    world, fences = await fenced(PLAIN)
    fences.down = True
    for stored in (EVENTS, [*EVENTS, stored_event("e1", scope=OTHER)]):
        with pytest.raises(Unavailable):
            await upload_events(stored, [PLAIN], search=world.search)
    assert world.index._indexes["plain"] == {}


async def test_an_upload_does_not_take_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UPLOAD_SECONDS", 0.01)
    world = await made(PLAIN)
    world.index.hangs = True
    with pytest.raises(Unavailable):
        await upload_events(EVENTS, [PLAIN], search=world.search)
