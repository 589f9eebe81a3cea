"""Settling what a replay will do."""

import pytest

from memnet.adapters.memory.models import ScriptedModels
from memnet.adapters.process.no_semantic_router import NoSemanticRouter
from memnet.domain.core.errors import DecryptionFailed, SnapshotNotFound, Unavailable
from memnet.domain.core.scope import Actor
from memnet.domain.core.user_item import ItemKind
from memnet.domain.replay import replay as replays
from memnet.domain.replay.replay import replay_key
from memnet.domain.replay.snapshot import snapshot_key
from memnet.operations.replay.plan_replay import PlannedReplay, plan_replay
from tests.memory_blobs import storage_of
from tests.operations.replay_scenario import DEADLINE, FORBIDDEN, PREFERENCE, SCOPE, SUMMARY, WORKER, World, answer
from tests.services import service_of


async def planned(world: World) -> PlannedReplay:
    job = await world.store()
    stored = await world.records.read(replay_key(SCOPE, job.job_id))
    assert stored is not None
    return await plan_replay(
        replays.load(stored.data),
        service_of(
            vault=world.vault,
            documents=world.documents,
            catalog=world.catalog,
            models=world.models,
            semantic_router=NoSemanticRouter(),
        ),
        actor=Actor(WORKER, frozenset()),
    )


async def test_the_first_patch_of_each_document_is_ready_to_be_sent() -> None:
    world = World(models=ScriptedModels([answer(PREFERENCE, SUMMARY, DEADLINE, FORBIDDEN)]))
    await world.create_project()
    found = await planned(world)
    assert [patch.request is None for patch in found.plan.patches] == [False, False, True]
    assert [patch.proposal.number for patch in found.plan.patches] == [1, 2, 3]
    assert found.plan.patches[0].proposal.base_etag is None
    assert found.plan.patches[1].proposal.base["summary"] == "Search as it was"
    (rejected,) = found.settled
    assert (rejected.number, rejected.namespace, rejected.path) == (4, "projects", "alpha.json")
    assert found.extraction["extractor"] == "model"
    assert found.plan.event["project_ids"] == ["alpha"]


async def test_nothing_is_stored() -> None:
    world = World(models=ScriptedModels([answer(PREFERENCE)]))
    await planned(world)
    storage = storage_of(world.records)
    kinds = {name.split("/")[4] for name in storage.names("tenants/")}
    assert kinds == {ItemKind.KEYS, ItemKind.SNAPSHOTS, ItemKind.REPLAYS}
    (replay,) = storage.names(f"{SCOPE.prefix}{ItemKind.REPLAYS}/")
    assert replays.load(storage.data(replay)).sealed is None


async def test_models_that_do_not_answer_go_up() -> None:
    with pytest.raises(Unavailable):
        await planned(World(models=ScriptedModels([])))


async def test_a_snapshot_that_is_gone_or_altered_is_refused() -> None:
    world = World()
    job = await world.store()
    key = snapshot_key(SCOPE, "c1", "s1")
    stored = await world.records.read(key)
    assert stored is not None
    await world.records.write(key, stored.data[:-3] + b'A"}', replaces=stored.storage_etag)
    with pytest.raises(DecryptionFailed):
        await world.replay(job)
    storage_of(world.records).drop(key.blob_name)
    with pytest.raises(SnapshotNotFound):
        await world.replay(job)
