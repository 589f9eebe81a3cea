"""A worker does the work of a reindexing that the API has started."""

from datetime import datetime

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.job import Job, JobKind
from memnet.domain.events.index_layout import STALLED_AFTER, Reindexing, ReindexState
from memnet.operations.events.get_reindexing import get_reindexing
from memnet.operations.events.reindex_events import reindex_events
from memnet.operations.events.resume_reindexing import resume_reindexing
from tests.operations.event_scenario import World
from tests.services import service_of


class Sent:
    """A queue that keeps what it is sent, or is down."""

    def __init__(self, *, down: bool = False) -> None:
        self.jobs: list[tuple[Job, int]] = []
        self._down = down

    async def send(self, job: Job, *, attempt: int = 0, due: datetime | None = None) -> None:
        if self._down:
            raise Unavailable(dependency="service_bus")
        self.jobs.append((job, attempt))

    async def ping(self) -> None:
        """Nothing to ask."""


async def start(world: World, queue: Sent) -> Reindexing:
    return await reindex_events("t1", service_of(background=world.background, queue=queue, **world.ports))


async def test_the_work_is_handed_over_and_done_there() -> None:
    world, queue = World(), Sent()
    await world.store("e0", "e1")
    record = await start(world, queue)
    assert queue.jobs == [(Job(JobKind.REINDEX, "t1", None, record.reindex_id), 0)]
    await world.background.drain()
    assert not (await get_reindexing("t1", search=world.search)).done
    assert await resume_reindexing("t1", record.reindex_id, service_of(**world.ports))
    done = await get_reindexing("t1", search=world.search)
    assert (done.reindex_id, done.done, done.events) == (record.reindex_id, True, 2)
    assert (await world.verify("t1")).agrees


async def test_a_message_that_comes_twice_or_too_late_finds_nothing_to_do() -> None:
    world, queue = World(), Sent()
    await world.store("e0")
    record = await start(world, queue)
    assert not await resume_reindexing("t1", "another", service_of(**world.ports))
    assert not await resume_reindexing("t2", record.reindex_id, service_of(**world.ports))
    assert await resume_reindexing("t1", record.reindex_id, service_of(**world.ports))
    assert not await resume_reindexing("t1", record.reindex_id, service_of(**world.ports))


async def test_a_stalled_one_is_sent_again_as_another_message() -> None:
    world, queue = World(), Sent()
    await world.store("e0")
    await start(world, queue)
    world.clock.advance(STALLED_AFTER * 2)
    assert (await get_reindexing("t1", search=world.search)).state(world.clock.now()) is ReindexState.STALLED
    await start(world, queue)
    assert len(set(queue.jobs)) == 2


async def test_without_the_queue_this_process_does_it() -> None:
    world = World()
    await world.store("e0")
    await start(world, Sent(down=True))
    await world.background.drain()
    assert (await get_reindexing("t1", search=world.search)).done
