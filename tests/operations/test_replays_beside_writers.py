"""A replay whose keys and facts other writers used before it."""

from dataclasses import replace

from memnet.adapters.memory.models import ScriptedModels
from memnet.domain.replay import PatchStatus, ReplayStatus
from memnet.operations.patch_document import patch_document
from tests.operations.replay_world import DYNAMIC, PREFERENCE, World, add, answer


async def test_a_key_that_somebody_else_has_used_does_not_stop_it():
    world = World(models=ScriptedModels([answer(PREFERENCE)]))
    job = await world.store()
    command = world.live_command(DYNAMIC, None, add("/preferences/-", "Prefers answers in verse"))
    await patch_document(replace(command, idempotency_key=f"{job.job_id}-1"), **world.writing())
    replay = await world.replay(job)
    assert (replay.status, [fate.status for fate in replay.patches]) == (ReplayStatus.SUCCEEDED, [PatchStatus.APPLIED])
    assert [record["idempotency_key"] for record in await world.history(DYNAMIC)] == [f"{job.job_id}-1"] * 2
    assert (await world.content(DYNAMIC))["preferences"] == ["Prefers answers in verse", "Prefers concise answers"]
