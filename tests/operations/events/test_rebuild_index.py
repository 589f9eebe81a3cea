"""A rebuild may die at every step, meet writers at every step, and still ends with exactly what is stored."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.events.index_layout import REBUILD, Phase, load_reindexing
from memnet.operations.events import reindex_events as module
from memnet.operations.events.reconcile_events import reconcile_events
from memnet.operations.events.reindex_events import rebuild_index
from memnet.operations.events.write_event import write_event
from memnet.ports import StoreConflict
from memnet.stores import SearchRegister
from tests.domain.event_samples import event, stored_event
from tests.operations.event_scenario import TwoNumbers, World, event_ids
from tests.services import service_of


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 2)


async def filled(number: int = 5, embedder: TwoNumbers | None = None) -> World:
    world = World(embedder=embedder)
    for n in range(number):
        await world.write(f"e{n}", scope=UserScope(f"t{n % 2}", "u1"), digest=f"slow {n}")
    return world


async def settled(world: World) -> None:
    """What is left to be repaired is, and then the index holds exactly what is stored."""
    assert (await reconcile_events(service_of(**world.ports))).postponed == 0
    assert (await world.verify()).agrees
    assert await world.marks() == []


async def test_a_new_index_takes_the_place_of_the_old_one() -> None:
    world = await filled()
    old = (await world.layout()).serving
    record = await rebuild_index(service_of(**world.ports))
    layout = await world.layout()
    assert (record.phase, record.events, record.waiting) == (Phase.DONE, 5, 0)
    assert (layout.serving, layout.building) == (record.target, None)
    assert list(world.index._indexes) == [layout.serving.name] != [old.name]
    await settled(world)


@pytest.mark.parametrize("embedder", [None, TwoNumbers()])
async def test_an_index_that_was_lost_comes_back_with_the_same_results(embedder: TwoNumbers | None) -> None:
    world = await filled(7, embedder)
    scope = UserScope("t1", "u1")
    before = [await world.find(text, scope=scope) for text in ("slow", "latency", "5", None)]
    await world.index.drop((await world.layout()).serving.name)
    await rebuild_index(service_of(**world.ports))
    assert [await world.find(text, scope=scope) for text in ("slow", "latency", "5", None)] == before
    await settled(world)


async def test_what_the_new_index_refuses_is_marked() -> None:
    world = await filled()
    key = stored_event("e1", scope=UserScope("t1", "u1")).key
    world.index.refused = {key.index_key}
    assert (await rebuild_index(service_of(**world.ports))).waiting == 1
    assert await world.marks() == [key]
    world.index.refused = set()
    await settled(world)


class Crash(BaseException):
    """The process is gone."""


class StepByStep:
    """Runs something between any two steps of a rebuild: before every call of a port."""

    def __init__(self, world: World, step: Callable[[int], Awaitable[None]]) -> None:
        self.count = 0
        self._step = step
        for port in (world.index, world.register, world.events):
            for name in ("create", "drop", "upload", "write", "read", "list", "get", "mark"):
                if hasattr(port, name):
                    setattr(port, name, self._stepped(getattr(port, name)))
        self.quiet = False

    def _stepped(self, call: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        async def stepped(*arguments: object, **named: object) -> object:
            if not self.quiet:
                self.count += 1
                self.quiet = True
                try:
                    await self._step(self.count)
                finally:
                    self.quiet = False
            return await call(*arguments, **named)

        return stepped


async def steps_of_a_rebuild() -> int:
    async def nothing(_: int) -> None:
        return

    world = await filled()
    counted = StepByStep(world, nothing)
    await rebuild_index(service_of(**world.ports))
    return counted.count


async def test_killed_at_every_step_it_is_finished_by_the_next() -> None:
    total = await steps_of_a_rebuild()
    assert total > 20
    for fatal in range(1, total + 1):
        world = await filled()

        async def die(count: int, fatal: int = fatal) -> None:
            if count == fatal:
                raise Crash

        StepByStep(world, die)
        with pytest.raises(Crash):
            await rebuild_index(service_of(**world.ports))
        # Searches always find an index, and concurrent writes are not lost.
        scope = UserScope("t1", "u1")
        assert set(event_ids(await world.find("slow", scope=scope))) == {"e1", "e3"}
        await world.write("late", scope=scope, digest="slow late")
        record = await rebuild_index(service_of(**world.ports))
        assert record.done
        assert list(world.index._indexes) == [(await world.layout()).serving.name], fatal
        await settled(world)
        assert "late" in event_ids(await world.find("late", scope=scope)), fatal


async def test_an_event_written_at_any_step_is_in_the_new_index() -> None:
    total = await steps_of_a_rebuild()
    for moment in range(1, total + 1):
        world = await filled()

        async def write(count: int, moment: int = moment, world: World = world) -> None:
            if count == moment:
                assert (await world.write("aaa-late", scope=UserScope("t0", "a"))).replayed is False

        StepByStep(world, write)
        await rebuild_index(service_of(**world.ports))
        await settled(world)
        assert event_ids(await world.find(None, scope=UserScope("t0", "a"))) == ["aaa-late"], moment


async def test_processes_that_remember_an_older_layout_lose_nothing() -> None:
    world = await filled(9)
    shared, search = world.register, world.search
    processes = [replace(search, register=SearchRegister(shared._blobs, fresh_seconds=0.05)) for _ in range(3)]
    stop = asyncio.Event()

    async def writer(number: int) -> int:
        count = 0
        while not stop.is_set():
            written = await write_event(
                UserScope("t0", "a"),
                event(f"w{number}-{count}"),
                service_of(events=world.events, search=processes[number], ids=world.ids, background=world.background),
            )
            assert not written.replayed
            count += 1
            await asyncio.sleep(0.001)
        return count

    writers = [asyncio.create_task(writer(number)) for number in range(3)]
    own = replace(search, register=SearchRegister(shared._blobs, fresh_seconds=0.05))
    for _ in range(3):
        assert (await rebuild_index(service_of(**{**world.ports, "search": own}))).done
    stop.set()
    assert min(await asyncio.gather(*writers)) > 10
    await world.background.drain()
    await settled(world)


async def test_a_second_process_takes_over_and_the_first_stops() -> None:
    world = await filled()
    taken_over = False

    async def take_over(count: int) -> None:
        nonlocal taken_over
        if count == 12:
            taken_over = (await rebuild_index(service_of(**world.ports))).done

    StepByStep(world, take_over)
    with pytest.raises(StoreConflict):
        await rebuild_index(service_of(**world.ports))
    assert taken_over
    await settled(world)


async def test_an_unfinished_one_with_other_embeddings_is_given_up() -> None:
    world = await filled()
    world.index.down = True
    with pytest.raises(Unavailable):
        await rebuild_index(service_of(**world.ports))
    world.index.down, world.embedder = False, TwoNumbers()
    record = await rebuild_index(service_of(**world.ports))
    assert record.target is not None
    assert record.target.model == "two-numbers"
    assert list(world.index._indexes) == [record.target.name]
    await settled(world)
    stored = await world.register.read(REBUILD)
    assert stored is not None
    assert load_reindexing(stored.data) == record
