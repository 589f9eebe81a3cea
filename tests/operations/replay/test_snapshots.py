"""An acknowledged snapshot is stored sealed, its replay waits in a record, and its job is sent or marked."""

import asyncio
from dataclasses import replace

import pytest

from memnet.adapters.process.data_key_cache import ProcessDataKeyCache
from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.errors import (
    ErasureRunning,
    InvalidIdentifier,
    ProfileForbidden,
    SnapshotExists,
    Unavailable,
)
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import Actor
from memnet.domain.core.user_item import ItemKind
from memnet.domain.governance.erasure import fence_name
from memnet.domain.governance.withdrawn import register_key
from memnet.domain.replay import replay as replays
from memnet.domain.replay.replay import Replay, ReplayStatus, replay_key
from memnet.domain.upkeep.marks import changed_mark
from memnet.operations.replay.snapshots import read_snapshot
from memnet.stores import ErasureStore, FenceCheck, KeyRing, Vault
from tests.domain.samples import CATALOG
from tests.domain.snapshot_samples import SCOPE, SECRET_WORDS, conversation, snapshot
from tests.memory_blobs import storage_of
from tests.operations.vault_scenario import ACTOR, Crash, SteppedMarks, SteppedRecords, VaultWorld
from tests.waves import wave_blobs

SNAPSHOT = snapshot()
JOB = Job(JobKind.REPLAY, "t1", "u1", SNAPSHOT.replay_id)
STEPS = 9
"""Calls of ports that a new user's first snapshot takes, the vault's left out."""
OVER = [ReplayStatus.SUCCEEDED, ReplayStatus.PARTIAL]


async def replay_of(world: VaultWorld) -> Replay:
    stored = await world.records.read(replay_key(SCOPE, SNAPSHOT.replay_id))
    assert stored is not None
    return replays.load(stored.data)


async def set_status(world: VaultWorld, status: ReplayStatus, attempts: int = 1) -> None:
    """As a worker does it; it takes the mark away when it has ended."""
    key = replay_key(SCOPE, SNAPSHOT.replay_id)
    stored = await world.records.read(key)
    assert stored is not None
    changed = replace(replays.load(stored.data), status=status, attempts=attempts)
    await world.records.write(key, replays.dump(changed), replaces=stored.storage_etag)
    if changed.finished:
        await world.marks.unmark(JOB)
    world.queue.sent.clear()


async def test_a_new_snapshot_is_stored_sealed_marked_and_sent() -> None:
    world = VaultWorld()
    stored = await world.store()
    assert stored.snapshot_id == "s_1"
    assert stored.snapshot_uri == "blob://tenants/t1/users/u1/snapshots/c_1/s_1.json"
    assert (stored.replay_id, stored.queued, stored.replayed) == (SNAPSHOT.replay_id, True, False)
    blob = await world.records.read(SNAPSHOT.key)
    assert blob is not None
    assert SECRET_WORDS.encode() not in blob.data
    assert await KeyRing(world.vault).unseal(SNAPSHOT.key, blob.data) == SNAPSHOT.dump()
    assert await replay_of(world) == replays.new_replay(SNAPSHOT, world.clock.now())
    assert await world.marked() == [JOB]
    assert world.queue.sent == [(JOB, 0)]


async def test_without_an_id_the_content_names_it() -> None:
    world = VaultWorld()
    first, again = await world.store(conversation(None)), await world.store(conversation(None))
    other = await world.store(conversation(None, "something else"))
    assert (first.snapshot_id, first.replayed) == (again.snapshot_id, False)
    assert again.replayed
    assert other.snapshot_id != first.snapshot_id


@pytest.mark.parametrize("status", [ReplayStatus.QUEUED, ReplayStatus.RUNNING])
async def test_the_same_snapshot_again_is_replayed_and_sent_again_while_unfinished(status: ReplayStatus) -> None:
    world = VaultWorld()
    first = await world.store()
    await set_status(world, status)
    assert await world.store() == replace(first, replayed=True)
    assert (await replay_of(world)).status is status
    assert world.queue.sent == [(JOB, 1)]
    assert await world.marked() == [JOB]


@pytest.mark.parametrize("status", OVER)
async def test_a_finished_replay_stays_unchanged(status: ReplayStatus) -> None:
    world = VaultWorld()
    first = await world.store()
    await set_status(world, status)
    assert await world.store() == replace(first, replayed=True, queued=False)
    assert (await replay_of(world)).status is status
    assert (world.queue.sent, await world.marked()) == ([], [])


@pytest.mark.parametrize("status", OVER)
async def test_a_replay_that_ends_meanwhile_leaves_no_mark(status: ReplayStatus) -> None:
    world = VaultWorld()
    await world.store()
    await set_status(world, ReplayStatus.RUNNING)
    mark = world.marks.mark

    async def ended_before(job: Job, *, checked: FenceCheck | None = None) -> None:
        await set_status(world, status)
        await mark(job, checked=checked)

    world.marks.mark = ended_before  # type: ignore[method-assign]
    again = await world.store()
    assert (again.replayed, again.queued) == (True, False)
    assert (world.queue.sent, await world.marked()) == ([], [])


async def test_a_failed_replay_is_queued_again_as_another_message() -> None:
    world = VaultWorld()
    await world.store()
    await set_status(world, ReplayStatus.FAILED, attempts=3)
    again = await world.store()
    assert (again.replayed, again.queued) == (True, True)
    found = await replay_of(world)
    assert (found.status, found.attempts) == (ReplayStatus.QUEUED, 3)
    assert world.queue.sent == [(JOB, 3)]
    assert await world.marked() == [JOB]


async def test_a_worker_that_was_just_giving_up_takes_no_job_with_it() -> None:
    """It writes that it failed, the snapshot comes again, and only then does it take its mark away."""
    world = VaultWorld()
    await world.store()
    await set_status(world, ReplayStatus.FAILED)
    send = world.queue.send

    async def given_up(job: Job, *, attempt: int = 0, due: object = None) -> None:
        await world.marks.unmark(job)
        await send(job, attempt=attempt)

    world.queue.send = given_up  # type: ignore[method-assign]
    world.queue.trouble = Unavailable()
    assert not (await world.store()).queued
    assert await world.marked() == [JOB]


@pytest.mark.parametrize("trouble", [Unavailable(), TimeoutError(), RuntimeError("a defect")])
async def test_whatever_the_broker_does_the_snapshot_is_acknowledged_and_marked(trouble: Exception) -> None:
    world = VaultWorld()
    world.queue.trouble = trouble
    stored = await world.store()
    assert (stored.queued, stored.replayed) == (False, False)
    assert (await replay_of(world)).status is ReplayStatus.QUEUED
    assert await world.marked() == [JOB]


async def test_a_broker_that_hangs_is_not_waited_for() -> None:
    world = VaultWorld()

    async def hang(job: Job, *, attempt: int = 0, due: object = None) -> None:
        await asyncio.Event().wait()

    world.queue.send = hang  # type: ignore[method-assign]
    assert not (await world.store()).queued
    assert await world.marked() == [JOB]


@pytest.mark.parametrize(
    "other",
    [
        {"body": conversation("s_1", "something else")},
        {"body": conversation("s_1", profile_id="support-desk-v1")},
        {"actor": Actor("svc-b", frozenset())},
    ],
)
async def test_another_conversation_under_its_id_is_refused_and_changes_nothing(other: dict[str, object]) -> None:
    world = VaultWorld()
    await world.store()
    await set_status(world, ReplayStatus.SUCCEEDED)
    before = await world.records.read(SNAPSHOT.key)
    with pytest.raises(SnapshotExists):
        await world.store(**other)  # type: ignore[arg-type]
    assert await world.records.read(SNAPSHOT.key) == before
    assert (world.queue.sent, await world.marked()) == ([], [])


async def test_it_names_the_text_of_its_profile_and_stays_the_same_snapshot_when_the_profile_changes() -> None:
    world = VaultWorld()
    first = await world.store()
    stored = await read_snapshot(SCOPE, "c_1", "s_1", actor=ACTOR, vault=world.vault)
    profile = CATALOG.profile(stored.profile_id)
    assert (stored.profile_version, stored.profile_sha256) == (profile.version, profile.sha256)
    changed = profile.model_copy(update={"version": "9.0.0"})
    assert changed.sha256 != profile.sha256
    again = await world.store(catalog=Catalog({**CATALOG.profiles, profile.profile_id: changed}, CATALOG.schemas))
    assert (again.replayed, again.replay_id) == (True, first.replay_id)


async def test_many_at_once_are_one_snapshot_and_one_replay() -> None:
    world = VaultWorld()
    stored = await asyncio.gather(*(world.store() for _ in range(8)))
    assert sorted(each.replayed for each in stored) == [False] + [True] * 7
    assert {each.replay_id for each in stored} == {SNAPSHOT.replay_id}
    assert len((await world.data_keys()).keys) == 1
    assert set(world.queue.sent) == {(JOB, 0)}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", range(1, STEPS + 1))
async def test_after_a_crash_at_any_step_the_same_request_finishes_it(step: int, after: bool) -> None:
    world = VaultWorld()
    world.steps.crash_at, world.steps.after = step, after
    with pytest.raises(Crash):
        await world.store()
    world.steps.crash_at = None
    if await world.records.read(replay_key(SCOPE, SNAPSHOT.replay_id)) is not None:
        assert await world.marked() == [JOB]
        assert await world.records.read(SNAPSHOT.key) is not None
    stored = await world.store()
    assert stored.queued
    blob = await world.records.read(SNAPSHOT.key)
    assert blob is not None
    assert await KeyRing(world.vault).unseal(SNAPSHOT.key, blob.data) == SNAPSHOT.dump()
    assert (await replay_of(world)).status is ReplayStatus.QUEUED
    assert await world.marked() == [JOB]
    assert set(world.queue.sent) == {(JOB, 0)}


@pytest.mark.parametrize("kind", [ItemKind.KEYS, ItemKind.SNAPSHOTS, ItemKind.REPLAYS])
@pytest.mark.parametrize("fate", ["lost", "unconfirmed", "repeated"])
async def test_a_write_whose_outcome_is_unknown_is_never_acknowledged_before_it_is_known(
    kind: ItemKind, fate: str
) -> None:
    world = VaultWorld()
    world.records.fate = lambda key: fate if key.kind is kind else None
    if fate == "repeated":
        stored = await world.store()
        assert (stored.queued, stored.replayed) == (True, False)
    else:
        with pytest.raises(Unavailable):
            await world.store()
        world.records.fate = lambda key: None
        assert (await world.store()).queued
    assert await world.marked() == [JOB]
    assert world.queue.sent == [(JOB, 0)]


async def test_a_profile_that_excludes_the_caller_is_refused() -> None:
    closed = CATALOG.profile("project-copilot-v1").model_copy(update={"allowed_principals": ("svc-b",)})
    world = VaultWorld()
    with pytest.raises(ProfileForbidden):
        await world.store(catalog=replace(CATALOG, profiles={**CATALOG.profiles, closed.profile_id: closed}))
    assert world.steps.seen == []


async def test_invalid_ids_are_refused_before_anything_else() -> None:
    world = VaultWorld()
    with pytest.raises(InvalidIdentifier):
        await world.store(conversation_id="../c")
    assert world.steps.seen == []


# The fence.


async def test_a_snapshot_takes_one_look_at_the_fence_during_the_first_reads() -> None:
    world = VaultWorld()
    await world.store(conversation("s_0"))
    blobs, storage = await wave_blobs(SCOPE.tenant_id, world.clock)
    world.records, world.marks = SteppedRecords(world.steps, blobs), SteppedMarks(world.steps, blobs)
    world.vault = Vault(world.records, world.keys, world.ids, world.clock, ProcessDataKeyCache(world.clock))
    await KeyRing(world.vault).get_or_create(SCOPE)
    storage.waves.clear()
    await world.store()
    replay = replay_key(SCOPE, SNAPSHOT.replay_id).blob_name
    closed = register_key(SCOPE).blob_name
    [mark] = storage.storage.names("repairs/jobs/")
    read = [f"get {name}" for name in (SNAPSHOT.key.blob_name, replay, fence_name(SCOPE), closed)]
    changed = f"put {changed_mark(SCOPE, world.clock.now()).blob_name}"
    assert sorted(storage.waves[0]) == sorted([*read, changed])
    assert storage.waves[1:] == [
        *([f"put {mark}"], [f"put {SNAPSHOT.key.blob_name}"], [f"get {replay}"], [f"put {replay}"])
    ]


@pytest.mark.parametrize("again", [False, True])
async def test_nothing_is_stored_or_answered_while_the_user_is_erased(again: bool) -> None:
    world = VaultWorld()
    if again:
        await world.store()
        await set_status(world, ReplayStatus.SUCCEEDED)
    before = storage_of(world.records).names()
    await ErasureStore(world.records._blobs).write(SCOPE, b"{}", replaces=None)
    with pytest.raises(ErasureRunning):
        await world.store()
    assert storage_of(world.records).names(SCOPE.prefix) == [name for name in before if name.startswith(SCOPE.prefix)]
    assert await world.marked() == []
