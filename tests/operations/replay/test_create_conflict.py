"""Keeping a patch that met a changed document."""

from typing import Any

from memnet.domain.replay.conflict import BACKOFF, ConflictStatus
from memnet.operations.replay.create_conflict import create_conflict
from tests.domain.replay_samples import dispute, proposal
from tests.operations.replay_scenario import DownQueue, World
from tests.services import service_of


async def open_(world: World, **ports: Any) -> None:
    chosen = {"vault": world.vault, "marks": world.marks, "queue": world.queue}
    await create_conflict(proposal(), dispute(), service_of(**chosen | ports), rebases=1)


async def test_it_is_marked_stored_and_sent_once() -> None:
    world = World()
    await open_(world)
    await open_(world)
    ((conflict, versions),) = await world.conflicts()
    assert (conflict.conflict_id, conflict.status, conflict.reason) == ("cfl-rpl-1-1", ConflictStatus.OPEN, "changed")
    assert versions.proposal == proposal()
    assert versions.dispute == dispute()
    assert world.queue.sent == [(conflict.job, 1, world.clock.now() + BACKOFF[0])]
    assert await world.marked() == [conflict.job]


async def test_nothing_of_what_was_proposed_lies_open() -> None:
    world = World()
    await open_(world)
    for data in world.records_at_rest():
        assert b"rewrite" not in data


async def test_without_a_broker_it_is_marked_all_the_same() -> None:
    world = World()
    await open_(world, queue=DownQueue())
    ((conflict, _),) = await world.conflicts()
    assert await world.marked() == [conflict.job]
