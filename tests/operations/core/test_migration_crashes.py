"""Migrations that crash, and migrations during an erasure."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from memnet.adapters.process.background import BackgroundTasks
from memnet.domain.core.errors import ErasureRunning, Unavailable
from memnet.ports import StoreConflict
from tests.operations.migration_scenario import GLOBAL, OLDEST, SPLIT, TO_10, Migrating
from tests.operations.replay.test_replay_crashes import FAILURES, FallsAt, Killed
from tests.operations.replay_scenario import Watched
from tests.operations.service_scenario import DYNAMIC, STATIC, CountingDocuments, Service

FAULTS: dict[str, Callable[[int], FallsAt]] = {
    **{name: failure for name, failure in FAILURES.items() if "reported" not in name},
    "applied but reported as refused": lambda number: FallsAt(
        number, StoreConflict, applied=True, only="documents.put"
    ),
}
Work = Callable[[Migrating], Awaitable[Any]]


async def persist(world: Any, work: Work, failure: FallsAt) -> None:
    """One process after the other, as long as they die."""
    for _ in range(6):
        world.service.background = BackgroundTasks()
        world.documents = Watched("documents", world.service.documents, failure)
        world.audit = Watched("audit", world.service.audit, failure)
        try:
            await work(world)
        except (Killed, Unavailable):
            await world.service.background.drain(0)
            continue
        await world.service.background.drain()
        return
    raise AssertionError("it never ends")


async def state(world: Migrating) -> Any:
    """Every document and what its records say, but for what differs from run to run."""
    await world.check_histories()
    found = {}
    for key in (GLOBAL, STATIC, DYNAMIC):
        if await world.service.documents.get(key):
            head = await world.head(key)
            records = [await world.record(key, n + 1) for n in range(head.commit.sequence)]
            found[key.path] = (head.content, head.schema_version, [(r["note"], r["content_hash"]) for r in records])
    return found


async def run_split(world: Migrating) -> None:
    await world.run()


async def run_chain(world: Migrating) -> None:
    await world.run(TO_10)


async def roll_back(world: Migrating) -> None:
    await world.roll_back(SPLIT)


async def decommission(world: Migrating) -> None:
    await world.decommission()


SCENES: dict[str, Sequence[Work]] = {
    "split": [run_split],
    "in place": [run_chain],
    "rolled back": [run_split, roll_back],
    "decommissioned": [run_split, decommission],
    "decommissioned and rolled back": [run_split, decommission, roll_back],
}


async def played(scene: Sequence[Work], failure: FallsAt) -> Any:
    """The scene, whose last act the failure is in."""
    world = Migrating()
    if scene[-1] is run_chain:
        await world.put(OLDEST, version="0.8.0")
    else:
        await world.put()
    for work in scene[:-1]:
        await work(world)
    await persist(world, scene[-1], failure)
    return await state(world)


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
async def test_an_interruption_at_any_call_changes_nothing_in_the_end(scene: Sequence[Work], kind: str) -> None:
    undisturbed = FAULTS[kind](0)
    expected = await played(scene, undisturbed)
    assert "documents.put" in undisturbed.calls
    for number in range(1, len(undisturbed.calls) + 1):
        failure = FAULTS[kind](number)
        assert await played(scene, failure) == expected, f"{kind} at {failure.calls[:number]}"


class Fenced(CountingDocuments):
    """Takes nothing while `fenced` is set, as under the fence of an erasure."""

    fenced = False

    async def put(self, key: Any, data: Any, summary: Any, **named: Any) -> None:
        if self.fenced:
            raise ErasureRunning
        await super().put(key, data, summary, **named)


async def is_postponed(world: Migrating) -> bool:
    return {decision.action.value for decision in await world.run()} == {"postponed"}


async def is_rollback_postponed(world: Migrating) -> bool:
    return (await world.roll_back()).postponed


async def is_decommissioning_postponed(world: Migrating) -> bool:
    return (await world.decommission()).postponed


@pytest.mark.parametrize("step", [is_postponed, is_rollback_postponed, is_decommissioning_postponed])
async def test_every_step_is_postponed(step: Callable[[Migrating], Awaitable[bool]]) -> None:
    documents = Fenced()
    world = Migrating(Service(documents=documents))
    await world.put()
    if step is not is_postponed:
        await world.run()
    await world.service.background.drain()
    documents.fenced = True
    writes = documents.calls["put"]
    assert await step(world)
    assert documents.calls["put"] == writes
    documents.fenced = False
    assert not await step(world)
