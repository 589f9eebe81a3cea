"""Changed marks: they exist before the write that they announce, cost no round trip, and outlive no erasure."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from memnet.adapters.memory.blob_storage import MemoryBlobStorage
from memnet.adapters.memory.clock import FrozenClock
from memnet.domain.core.errors import ErasureRunning, TenantEnded, Unavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.core.user_item import ItemKind
from memnet.domain.events.event import EventKey
from memnet.domain.governance.erasure import fence_name
from memnet.domain.governance.tenant_erasure import ended_name
from memnet.domain.upkeep.marks import CHANGED, ChangedMark, changed_mark
from memnet.stores import Blobs
from memnet.stores.mark_memory import MarkMemory
from memnet.stores.user_items import UNANNOUNCED
from tests.stores.all_stores import DATA, SUMMARY, Stores, document_of, stores_over, writes

ONE = UserScope("t1", "u1")
EVENT = EventKey(ONE, "e1")
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
WITH_MARK = ("document", "event", *(f"{kind} record" for kind in ItemKind if kind not in UNANNOUNCED))


class Watched(MemoryBlobStorage):
    """Notes each call; `refuse` makes the writes of names that begin so fail, and `then` follows each write."""

    def __init__(self, clock: FrozenClock) -> None:
        super().__init__(clock)
        self.calls: list[str] = []
        self.refuse: tuple[str, ...] = ()
        self.then: Callable[[str], Awaitable[None]] | None = None

    async def get(self, name: str, known: Any = None) -> Any:
        self.calls.append(f"GET {name}")
        return await super().get(name, known)

    async def put(self, name: str, data: bytes, **named: Any) -> Any:
        self.calls.append(f"PUT {name}")
        if name.startswith(self.refuse):
            raise Unavailable(dependency="blob_storage")
        found = await super().put(name, data, **named)
        if self.then is not None:
            await self.then(name)
        return found


class World:
    """A process over a storage; `more` is another process over the same."""

    def __init__(self, storage: Watched | None = None, clock: FrozenClock | None = None) -> None:
        self.clock = clock or FrozenClock()
        self.storage = storage or Watched(self.clock)
        self.blobs = Blobs(self.storage, self.clock, look_every=MINUTE)
        self.stores: Stores = stores_over(self.blobs)

    def more(self) -> "World":
        return World(self.storage, self.clock)

    def marks(self) -> list[str]:
        return list(self.storage.names(CHANGED))

    def mark(self) -> ChangedMark:
        return changed_mark(ONE, self.clock.now())

    def puts(self) -> list[str]:
        found = [call for call in self.storage.calls if call.startswith("PUT")]
        self.storage.calls.clear()
        return found

    async def change(self) -> None:
        """Change a document that exists, as an operation does."""
        key = document_of(ONE)
        stored = await self.stores.documents.get_to_change(key)
        await self.stores.documents.put(key, DATA, SUMMARY, replaces=stored.storage_etag if stored else None)


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize("kind", list(writes(World().stores, ONE, "a")))
async def test_a_creation_is_announced_first_unless_upkeep_need_not_know(world: World, kind: str) -> None:
    await writes(world.stores, ONE, "a")[kind]()
    assert world.puts()[:-1] == [f"PUT {world.mark().blob_name}"] * (kind in WITH_MARK)


@pytest.mark.parametrize("kind", WITH_MARK)
async def test_a_mark_that_cannot_be_written_refuses_the_write(world: World, kind: str) -> None:
    world.storage.refuse = (CHANGED,)
    with pytest.raises(Unavailable):
        await writes(world.stores, ONE, "a")[kind]()
    assert world.storage.names() == []


async def test_a_mark_that_cannot_be_written_refuses_the_change_of_a_document(world: World) -> None:
    await world.change()
    before = world.storage.data(document_of(ONE).blob_name)
    world.clock.advance(HOUR)
    world.storage.refuse = (CHANGED,)
    with pytest.raises(Unavailable):
        await world.change()
    assert world.storage.data(document_of(ONE).blob_name) == before
    world.storage.refuse = ()
    await world.change()
    assert len(world.marks()) == 2


async def test_changes_of_a_document_need_one_mark_an_hour(world: World) -> None:
    await world.change()
    world.puts()
    for _ in range(3):
        await world.change()
    assert world.puts() == [f"PUT {document_of(ONE).blob_name}"] * 3
    world.clock.advance(HOUR)
    await world.change()
    assert len(world.puts()) == 2
    assert len(world.marks()) == 2
    await world.more().change()
    assert len(world.puts()) == 2, "another process makes sure of it, too"
    assert len(world.marks()) == 2


async def test_the_mark_takes_no_round_trip_of_its_own(world: World) -> None:
    """It is sent before the answer about the fence, or about the document, has come."""
    waiting = asyncio.Event()
    get = world.storage.get

    async def late(name: str, known: Any = None) -> Any:
        found = await get(name, known)
        if not name.startswith("ended/"):
            await asyncio.wait_for(waiting.wait(), 10)
        return found

    async def then(name: str) -> None:
        if name.startswith(CHANGED):
            waiting.set()

    world.storage.get, world.storage.then = late, then  # type: ignore[method-assign]
    await world.stores.events.create(EVENT, DATA)
    waiting.clear()
    world.clock.advance(HOUR)
    assert await world.stores.documents.get_to_change(document_of(ONE)) is None


async def test_a_crash_after_the_mark_leaves_a_mark_and_nothing_else(world: World) -> None:
    async def die(name: str) -> None:
        if name.startswith(CHANGED):
            world.storage.refuse = ("",)

    world.storage.then = die
    with pytest.raises(Unavailable):
        await world.change()
    assert world.storage.names() == [world.mark().blob_name]


async def test_a_change_is_announced_although_an_erasure_deleted_the_mark_meanwhile(world: World) -> None:
    other = world.more()
    await world.change()
    # An erasure by another process, which takes longer than a process relies on its last check.
    for name in (world.mark().blob_name, document_of(ONE).blob_name):
        world.storage.drop(name)
    world.clock.advance(MINUTE)
    await world.stores.documents.get(document_of(ONE))
    await world.change()
    assert world.marks() == [world.mark().blob_name]
    await other.change()


async def test_a_refused_writer_creates_no_further_mark(world: World) -> None:
    """Else the scan of the erasure would find one each time, and never end."""
    await world.stores.erasures.write(ONE, DATA, replaces=None)
    for attempt in range(3):
        with pytest.raises(ErasureRunning):
            await world.stores.events.create(EVENT, DATA)
        assert len(world.marks()) == (attempt == 0)
        world.storage.drop(world.mark().blob_name)
    with pytest.raises(ErasureRunning):
        await world.blobs.ensure_changed_mark(ONE)
    assert world.marks() == []
    world.storage.drop(fence_name(ONE))
    await world.stores.events.create(EVENT, DATA)
    assert world.marks() == [world.mark().blob_name]


async def test_nothing_is_marked_for_a_tenant_that_has_ended(world: World) -> None:
    world.storage.overwrite(ended_name("t1"), b"{}")
    for call in (world.stores.events.create(EVENT, DATA), world.blobs.ensure_changed_mark(ONE), world.change()):
        with pytest.raises(TenantEnded):
            await call
    assert world.marks() == []


def test_the_memory_has_a_bound_and_keeps_the_newest() -> None:
    memory, now = MarkMemory(2), FrozenClock().now()
    marks = [changed_mark(UserScope("t1", f"u{n}"), now) for n in range(3)]
    memory.created(marks[0])
    memory.created(marks[1])
    memory.created(marks[0])
    memory.created(marks[2])
    assert [memory.has(mark) for mark in marks] == [True, False, True]


def test_a_creation_relies_on_a_checked_mark_only_and_not_for_long() -> None:
    memory, now = MarkMemory(), FrozenClock().now()
    mark = changed_mark(ONE, now)
    memory.created(mark)
    assert not memory.has_checked(mark, now, MINUTE)
    memory.created(mark, now)
    memory.created(mark)
    assert memory.has_checked(mark, now, MINUTE)
    assert not memory.has_checked(mark, now + MINUTE, MINUTE)
    assert not memory.has_checked(mark, now - MINUTE, MINUTE)
    memory.refused(ONE)
    assert (memory.has(mark), memory.is_refused(ONE)) == (False, True)
