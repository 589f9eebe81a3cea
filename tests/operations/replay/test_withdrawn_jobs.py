"""Replays and conflicts of a withdrawn source, whose records other writers change."""

from memnet.domain.governance.withdrawn import Fate, PlannedItem, WithdrawnKind
from memnet.domain.replay import replay as replays
from memnet.operations.replay.withdrawn_jobs import close_replay, remove_conflict, reopen_replay
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import WITHDRAWAL, WithdrawnWorld


async def test_what_does_not_exist_stays_missing() -> None:
    world = WithdrawnWorld()
    await close_replay(ONE, PlannedItem(WithdrawnKind.REPLAY, "rpl-1", Fate.CLOSE), WITHDRAWAL, world.service)
    await remove_conflict(ONE, PlannedItem(WithdrawnKind.CONFLICT, "cfl-1", Fate.REMOVE), WITHDRAWAL, world.service)
    assert (world.kept(), await world.copies()) == ({}, [])


async def test_a_replay_that_another_retraction_has_closed_stays_closed() -> None:
    world = WithdrawnWorld()
    await world.say("c1")
    (item, _) = await world.plan()
    await world.take_out()
    closed = await world.replay_of("c1")
    stored = await world.service.records.read(closed.key)
    assert stored is not None
    other = replays.dump(closed.retract("rtr-2", world.clock.now()))
    await world.service.records.write(closed.key, other, replaces=stored.storage_etag)
    assert not await reopen_replay(ONE, item, WITHDRAWAL, world.service)
    assert (await world.replay_of("c1")).retracted_by == "rtr-2"
