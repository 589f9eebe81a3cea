"""The list of conflicts."""

from typing import Any

import pytest

from memnet.adapters.memory.models import ScriptedModels
from memnet.domain.core.errors import InvalidCursor
from memnet.domain.core.scope import UserScope
from memnet.domain.replay.conflict import ConflictStatus
from memnet.operations.replay.create_conflict import create_conflict
from memnet.operations.replay.list_conflicts import PAGE, list_conflicts
from tests.domain.replay_samples import dispute, proposal
from tests.operations.replay_scenario import ALPHA, SCOPE, World, disputed_world, put
from tests.services import service_of


async def listed(
    world: World, status: ConflictStatus | None = None, limit: int = 100, cursor: str | None = None
) -> Any:
    return await list_conflicts(SCOPE, status=status, limit=limit, cursor=cursor, vault=world.vault)


async def test_a_conflict_has_what_it_takes_to_decide_it() -> None:
    world, conflict = await disputed_world()
    ((found, versions),) = (await listed(world)).items
    assert found == conflict
    assert versions is not None
    told = versions.members()
    assert told["base"]["content"]["summary"] == "Search as it was"
    assert told["ours"]["ops"] == [{"op": "replace", "path": "/content/summary", "value": "The retrieval rewrite"}]
    assert told["theirs"]["content"] == await world.content(ALPHA)
    assert told["place"]["path"] == "/content/summary"
    assert (found.confidence, found.evidence["message_ids"]) == (0.75, ["m3"])


async def test_they_are_listed_by_status() -> None:
    world, conflict = await disputed_world()
    assert len((await listed(world, ConflictStatus.OPEN)).items) == 1
    assert (await listed(world, ConflictStatus.RESOLVED)).items == []
    await world.live(ALPHA, put("/summary", "Search as it was"))
    await world.retry(conflict.job, None)
    assert (await listed(world, ConflictStatus.OPEN)).items == []
    assert len((await listed(world, ConflictStatus.RESOLVED)).items) == 1


async def test_pages_are_bounded_and_follow_one_another() -> None:
    world = World(models=ScriptedModels([]))
    for number in range(1, PAGE + 4):
        await create_conflict(
            proposal(number=number),
            dispute(),
            service_of(vault=world.vault, marks=world.marks, queue=world.queue),
            rebases=1,
        )
    first = await listed(world)
    second = await listed(world, cursor=first.next_cursor)
    assert (len(first.items), len(second.items), second.next_cursor) == (PAGE, 3, None)
    assert len({conflict.conflict_id for conflict, _ in [*first.items, *second.items]}) == PAGE + 3
    with pytest.raises(InvalidCursor):
        await listed(world, cursor="AAAA")


async def test_another_users_conflicts_are_not_among_them() -> None:
    world, _ = await disputed_world()
    other = UserScope("t1", "u10")
    assert (await list_conflicts(other, status=None, limit=10, cursor=None, vault=world.vault)).items == []
