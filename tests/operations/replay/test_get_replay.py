"""What became of a snapshot."""

import pytest

from memnet.adapters.memory.models import ScriptedModels
from memnet.domain.core.errors import HistoryCorrupt, InvalidIdentifier, ReplayNotFound
from memnet.domain.core.scope import UserScope
from memnet.domain.replay.replay import replay_key
from memnet.operations.replay.get_replay import get_replay
from tests.operations.replay_scenario import (
    ALPHA,
    DEADLINE,
    FACT,
    FORBIDDEN,
    PREFERENCE,
    SCOPE,
    World,
    answer,
    disputed_world,
    put,
)


async def test_a_replay_that_waits_has_no_patches_yet() -> None:
    world = World()
    told = await world.told(await world.store())
    assert (told["status"], told["patches"], told["event_id"], told["attempts"]) == ("queued", [], None, 0)


async def test_each_patch_has_its_fate_and_reason() -> None:
    world = World(models=ScriptedModels([answer(PREFERENCE, FACT, DEADLINE, FORBIDDEN)]))
    await world.create_project()
    job = await world.store()
    await world.replay(job)
    told = await world.told(job)
    assert (told["status"], told["attempts"]) == ("partial", 1)
    assert [patch["status"] for patch in told["patches"]] == ["applied", "redirected", "applied", "rejected"]
    applied, redirected, _, rejected = told["patches"]
    assert applied["change_id"]
    assert (applied["message_ids"], applied["confidence"]) == (["m1"], 0.75)
    assert redirected["change_id"]
    assert "change_id" not in rejected
    assert rejected["reason"].startswith("PATH_NOT_WRITABLE: ")


async def test_what_became_of_a_conflict_is_told_with_it() -> None:
    world, conflict = await disputed_world()
    (patch,) = (await get_replay(SCOPE, conflict.replay_id, records=world.records))["patches"]
    assert (patch["status"], patch["conflict_id"], patch["conflict_status"]) == (
        "conflict",
        conflict.conflict_id,
        "open",
    )
    assert "change_id" not in patch
    await world.live(ALPHA, put("/summary", "Search as it was"))
    found = await world.retry(conflict.job, 1)
    (patch,) = (await get_replay(SCOPE, conflict.replay_id, records=world.records))["patches"]
    assert (patch["status"], patch["conflict_status"], patch["change_id"]) == ("conflict", "resolved", found.change_id)


async def test_another_users_replay_is_not_found() -> None:
    world = World()
    job = await world.store()
    with pytest.raises(ReplayNotFound):
        await get_replay(UserScope("t1", "u2"), job.job_id, records=world.records)
    with pytest.raises(InvalidIdentifier):
        await get_replay(SCOPE, "..", records=world.records)


async def test_a_record_that_is_none_is_said_to_be_broken() -> None:
    world = World()
    await world.records.write(replay_key(SCOPE, "rpl-x"), b"[]", replaces=None)
    with pytest.raises(HistoryCorrupt):
        await get_replay(SCOPE, "rpl-x", records=world.records)
