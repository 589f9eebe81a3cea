"""The poisoned conversation is taken back, and brought back, beside sixteen live writers, replays and its own turns."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Any

import orjson
import pytest

from memnet.domain.core.errors import SourceRetracted
from memnet.domain.core.job import Job
from memnet.domain.core.scope import DocumentKey
from memnet.domain.governance.retraction import Retraction, RetractionStatus
from memnet.domain.replay.conflict import ConflictStatus
from memnet.domain.replay.replay import ReplayStatus
from memnet.operations.governance.retractions import get_retraction, undo_retraction
from memnet.operations.replay.conflicts import attempt_conflict, list_conflicts
from memnet.operations.replay.replays import replay_snapshot
from tests.operations.governance.test_retraction_scenario import begin, clean_contents, plan, run, world_of
from tests.operations.poisoned_checks import check_gone, check_histories, contents_of, normal
from tests.operations.poisoned_history import fact
from tests.operations.poisoned_scenario import (
    ALPHA,
    BETA,
    DOCUMENTS,
    DYNAMIC,
    OLD,
    PERSONAL,
    POISON,
    WORD,
    PoisonedWorld,
)
from tests.operations.replay_scenario import add, put
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import ADMIN, drain

WRITERS, WRITES, TURNS, TALKS = 16, 3, 6, 3


def written(world: PoisonedWorld, writer: int, number: int) -> tuple[DocumentKey, dict[str, Any]]:
    """Where a writer writes, and what: four writers share a document, and none fills an array."""
    said = f"{writer}.{number}"
    match writer % 4:
        case 0:
            return ALPHA, add(f"/facets/live{writer}{number}", said)
        case 1:
            return OLD, add("/preferences/-", f"Likes number {said}.")
        case 2:
            own = {"subject": "user", "attribute": f"number of {said}", "value": said}
            return PERSONAL, add("/facts/-", world.entry(f"My number is {said}.", f"live{said}", 0.9) | own)
    return DYNAMIC, add("/durable_facts/-", world.entry(f"Has the number {said}.", f"live{said}", 0.9))


async def write_all(world: PoisonedWorld, writer: int) -> None:
    for number in range(WRITES):
        key, op = written(world, writer, number)
        await world.write(key, f"live{writer}", op)


async def talk_all(world: PoisonedWorld) -> None:
    for number in range(TALKS):
        met = fact(f"I met guest {number}.", f"met guest {number}", f"guest {number}")
        await world.talk(f"later{number}", "s1", met, later=timedelta(0))


async def say_more(world: PoisonedWorld) -> list[Job]:
    """Turns of the conversation that still arrive; return the jobs of those that were accepted."""
    accepted = []
    for number in range(TURNS):
        with suppress(SourceRetracted):
            accepted.append(await world.turn(POISON, f"late{number}", f"{WORD} says it again."))
        for _ in range(40):
            await asyncio.sleep(0)
    return accepted


async def retry_conflicts(world: PoisonedWorld) -> None:
    """Apply what replays could not apply beside so many writers."""
    page = await list_conflicts(ONE, status=None, limit=100, cursor=None, vault=world.service.vault)
    for conflict, _ in page.items:
        assert conflict.evidence["conversation_id"] != POISON
        ended = await attempt_conflict(conflict.job, world.service, attempt=None)
        assert ended.status is ConflictStatus.RESOLVED
        await drain(world.service)


async def apply(world: PoisonedWorld, retraction_id: str) -> Retraction:
    """Apply beside everybody else."""
    async with asyncio.TaskGroup() as group:
        applying, saying = group.create_task(run(world, retraction_id)), group.create_task(say_more(world))
        group.create_task(talk_all(world))
        for writer in range(WRITERS):
            group.create_task(write_all(world, writer))
    ended, accepted = applying.result(), saying.result()
    await drain(world.service)
    assert 0 < len(accepted) < TURNS
    for job in accepted:
        replay = await replay_snapshot(job, world.service)
        assert replay.status is ReplayStatus.RETRACTED
        await drain(world.service)
    await retry_conflicts(world)
    with pytest.raises(SourceRetracted):
        await world.turn(POISON, "last", f"{WORD} says it again.")
    return ended


async def undo(world: PoisonedWorld, retraction_id: str) -> list[str]:
    """Undo the retraction; return what could not be brought back."""
    await undo_retraction(ONE, retraction_id, world.service, actor=ADMIN)
    assert (await run(world, retraction_id)).status is RetractionStatus.UNDONE
    done = await get_retraction(ONE, retraction_id, world.service)
    return [f"{one.path} {text}" for one in done.plan.documents for text in one.not_undone]


async def test_sixteen_writers_lose_nothing_and_nothing_of_it_is_left() -> None:
    world, oracle = await world_of(), await world_of(poisoned=False)
    before = await contents_of(world)
    retraction_id = await begin(world, await plan(world))
    assert (await apply(world, retraction_id)).status is RetractionStatus.APPLIED

    for writer in range(WRITERS):
        await write_all(oracle, writer)
    await talk_all(oracle)
    after, expected = await contents_of(world), await contents_of(oracle)
    for key in DOCUMENTS:
        assert normal(after[key]) == normal(expected[key]), key.path
    await check_gone(world)
    await check_histories(world)

    assert await undo(world, retraction_id) == []
    undone, clean = await contents_of(world), await clean_contents()
    for key in DOCUMENTS:
        found, was = elements(undone[key]), elements(before[key])
        assert found - was == elements(expected[key]) - elements(clean[key]), key.path
        assert was <= found, key.path
    for key in (BETA,):
        assert orjson.dumps(undone[key]) == orjson.dumps(before[key])
    await check_histories(world)


async def test_an_undo_names_exactly_what_others_have_changed_since() -> None:
    world = await world_of()
    before = await contents_of(world)
    retraction_id = await begin(world, await plan(world))
    await run(world, retraction_id)
    await world.write(ALPHA, "live", put("/summary", "Finished."), add("/facets/owner", "Ada"))
    await world.write(DYNAMIC, "live", add("/preferences/-", "Wants short answers."))
    assert await undo(world, retraction_id) == ["alpha.json /content/facets/owner", "alpha.json /content/summary"]
    after = await contents_of(world)
    before[ALPHA]["summary"] = "Finished."
    before[ALPHA]["facets"]["owner"] = "Ada"
    before[DYNAMIC]["preferences"].append("Wants short answers.")
    for key in DOCUMENTS:
        assert elements(after[key]) == elements(before[key]), key.path
    for key in (PERSONAL, BETA, OLD):
        assert orjson.dumps(after[key]) == orjson.dumps(before[key]), key.path
    await check_histories(world)


def elements(content: Any) -> set[bytes]:
    """The members of a content, and the elements of its arrays, each with its section."""
    found = set()
    for name, value in content.items():
        parts = value.items() if isinstance(value, dict) else value if isinstance(value, list) else [value]
        found |= {orjson.dumps([name, part], option=orjson.OPT_SORT_KEYS) for part in parts}
    return found
