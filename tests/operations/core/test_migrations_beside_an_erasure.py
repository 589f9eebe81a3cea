"""A user who is being erased is not migrated, nor taken back, nor decommissioned: that is postponed."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from memnet.domain.core.errors import ErasureRunning
from tests.operations.migration_scenario import Migrating
from tests.operations.service_scenario import CountingDocuments, Service


class Fenced(CountingDocuments):
    """Takes nothing while `fenced` is set, as under the fence of an erasure."""

    fenced = False

    async def put(self, key: Any, data: Any, summary: Any, *, replaces: Any, known_at: Any = None) -> None:
        if self.fenced:
            raise ErasureRunning
        await super().put(key, data, summary, replaces=replaces)


async def is_postponed(world: Migrating) -> bool:
    return {decision.standing.value for decision in await world.run()} == {"postponed"}


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
