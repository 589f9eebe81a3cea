"""Somebody asks for a retry."""

from typing import Any

import pytest

from memnet.domain.core.errors import ConflictClosed, ConflictNotFound, InvalidIdentifier
from memnet.domain.core.scope import Actor
from memnet.domain.replay.conflict import Asked, ConflictStatus
from memnet.operations.replay.retry_conflict import retry_conflict
from tests.operations.replay_scenario import ALPHA, SCOPE, World, disputed_world, put
from tests.services import service_of

CAROL = Actor("carol", frozenset())


async def retry(world: World, conflict_id: str, **ports: Any) -> Any:
    return await retry_conflict(SCOPE, conflict_id, service_of(**world.conflict_ports() | ports), actor=CAROL)


async def test_a_retry_notes_who_asked_and_resolves() -> None:
    world, conflict = await disputed_world()
    await world.live(ALPHA, put("/summary", "Search as it was"))
    found, versions = await retry(world, conflict.conflict_id)
    assert found.status is ConflictStatus.RESOLVED
    assert [(decision.asked, decision.by) for decision in found.decisions] == [(Asked.RETRY, "carol")]
    assert versions is not None
    last = (await world.history(ALPHA))[-1]
    assert (last["change_id"], last["actor"]) == (found.change_id, "memnet-worker")
    assert await world.marked() == []


async def test_a_retry_in_vain_is_told_with_the_newest_version() -> None:
    world, conflict = await disputed_world()
    await world.live(ALPHA, put("/summary", "Changed once more"))
    found, versions = await retry(world, conflict.conflict_id)
    assert (found.status, found.reason) == (ConflictStatus.OPEN, "changed")
    assert versions is not None
    assert versions.dispute.content["summary"] == "Changed once more"
    assert found.next_attempt_at == conflict.next_attempt_at


async def test_a_conflict_that_rests_can_still_be_retried() -> None:
    world, conflict = await disputed_world()
    for attempt in range(1, 6):
        await world.retry(conflict.job, attempt)
    await world.live(ALPHA, put("/summary", "Search as it was"))
    found, _ = await retry(world, conflict.conflict_id)
    assert found.status is ConflictStatus.RESOLVED


async def test_a_closed_conflict_takes_no_retry() -> None:
    world, conflict = await disputed_world()
    await world.live(ALPHA, put("/summary", "Search as it was"))
    await retry(world, conflict.conflict_id)
    with pytest.raises(ConflictClosed) as refused:
        await retry(world, conflict.conflict_id)
    assert refused.value.details == {"status": "resolved"}


async def test_what_is_not_there_is_refused() -> None:
    world = World()
    with pytest.raises(ConflictNotFound):
        await retry(world, "cfl-none")
    with pytest.raises(InvalidIdentifier):
        await retry(world, "../x")
