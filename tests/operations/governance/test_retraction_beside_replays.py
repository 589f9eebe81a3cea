"""A retraction of a conversation while its replay runs, and while turns of it still arrive."""

from itertools import count

import pytest

from memnet.adapters.memory.models import ScriptedModels
from memnet.domain.core.errors import SourceRetracted
from memnet.domain.governance.withdrawn import Withdrawal, register_key
from memnet.domain.replay.replay import ReplayStatus
from memnet.operations.replay.closed_sources import close_source, open_source
from tests.operations.replay_scenario import PREFERENCE, add, answer, proposed
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import POISONED, Between, WithdrawnWorld

TEA = proposed("user_dynamic", "user_dynamic.json", add("/preferences/-", "Prefers tea"))


async def test_a_replay_that_runs_meanwhile_leaves_nothing_in_the_end() -> None:
    """The broker lets a user's jobs run one after the other; if it does not, the result is the same."""
    for number in count(1):
        world = WithdrawnWorld(models=ScriptedModels([answer(TEA), answer(PREFERENCE)]))
        await world.work(await world.say("c2"))
        clean = world.contents()
        job = await world.say("c1")
        world.queue.sent.clear()

        async def apply(world: WithdrawnWorld = world) -> None:
            await world.retract()
            await world.run_jobs()

        between = Between(world, number, apply)
        await world.run_jobs(job, service=world.process())
        between.stop()
        if len(between.calls) < number:
            break
        # The message of the closed replay comes again if its worker was killed.
        await world.run_jobs(job)
        assert (await world.replay_of("c1")).status is ReplayStatus.RETRACTED, between.calls[-1]
        assert await world.plan() == [], between.calls[-1]
        assert world.contents() == clean, between.calls[-1]
    assert number > 20


async def test_a_turn_that_was_on_its_way_is_taken_out_and_comes_back_with_an_undo() -> None:
    world = WithdrawnWorld()
    await world.fill()
    retraction = await world.retract()
    await world.run_jobs()
    with pytest.raises(SourceRetracted) as refused:
        await world.say("c1", "s7", "I arrived late.")
    assert refused.value.details == {"retraction_id": retraction.retraction_id}
    await world.say("c2", "s7", "I may be said.")

    # Its request looked before the source was closed.
    await open_source(ONE, retraction.retraction_id, world.service)
    late = await world.say("c1", "s8", "I arrived late.")
    await close_source(ONE, Withdrawal(retraction.retraction_id, POISONED), world.service)
    await world.run_jobs(late)
    assert await world.plan() == []
    assert await world.find("arrived late") == []
    assert await world.marked_jobs() == []


async def test_closing_a_source_writes_one_small_record_without_content() -> None:
    world = WithdrawnWorld()
    await world.fill()
    await world.retract()
    await world.run_jobs()
    register = await world.service.records.read(register_key(ONE))
    assert register is not None
    assert b"concise" not in register.data
    assert b"poisoned" not in register.data
    for data in world.stored("withdrawn").values():
        assert b"concise" not in data
