"""Store a conversation, sealed and create-only, and have it replayed."""

import asyncio
import logging
from dataclasses import dataclass, replace

from memnet.domain.core.errors import ProfileForbidden, SnapshotExists, Unavailable
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.replay import replay as replays
from memnet.domain.replay.replay import Replay, ReplayStatus, new_replay, replay_key, requeued
from memnet.domain.replay.snapshot import Conversation, Snapshot, load, take
from memnet.operations.replay.send_job import send_job
from memnet.ports import MessageQueue, StoreConflict, StoredBlob
from memnet.service import Service
from memnet.stores import KeyRing, Vault

ATTEMPTS = 4
SENDING_SECONDS = 5.0
"""How long an answer waits for the broker; the mark has the job sent later."""
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """What a snapshot came to."""

    snapshot_id: str
    snapshot_uri: str
    replay_id: str
    queued: bool
    """Whether the broker has confirmed the job just now."""
    replayed: bool
    """Whether the same snapshot was stored before."""


async def store_snapshot(
    scope: UserScope,
    conversation_id: str,
    conversation: Conversation,
    service: Service,
    *,
    actor: Actor,
    patience: float = SENDING_SECONDS,
) -> StoredSnapshot:
    """Mark the replay's job, create the sealed snapshot and the replay's record, then send the job, in this order.

    When this returns, all but the last is durable, and the mark has the job sent if that failed. After a crash
    anywhere before, the same request finishes it. The same snapshot again has an unfinished replay sent once more and
    a failed one tried anew; one that is over stays so. Raises ProfileNotFound, ProfileForbidden, InvalidIdentifier,
    SnapshotExists for another conversation under the id, DecryptionFailed, VaultUnavailable, Unavailable.
    """
    profile = service.catalog.profile(conversation.profile_id)
    if not profile.admits(actor.principal):
        raise ProfileForbidden()
    snapshot = take(conversation, scope, conversation_id, actor.principal, profile)
    stored, known = await asyncio.gather(
        service.records.read(snapshot.key), service.records.read(replay_key(scope, snapshot.replay_id))
    )
    if stored is not None:
        await _check_same(snapshot, stored, service.vault)
        if known is not None and _is_over(replays.load(known.data)):
            return _told(snapshot, queued=False, replayed=True)
    job = Job(JobKind.REPLAY, scope.tenant_id, scope.user_id, snapshot.replay_id)
    await service.marks.mark(job)
    created = stored is None and await _create(snapshot, service.vault)
    replay = await _await_worker(snapshot, service.vault)
    if known is not None:
        await _renew(snapshot, service.vault)
    if _is_over(replay):
        # It ended between the first look and the mark, which nobody else would take away.
        await service.marks.unmark(job)
        return _told(snapshot, queued=False, replayed=not created)
    queued = await _send(job, replay, service.queue, patience)
    if not queued:
        # Once more: who saw the mark beside no record, or beside that of a failed replay, may have taken it away.
        await service.marks.mark(job)
    return _told(snapshot, queued=queued, replayed=not created)


async def _check_same(snapshot: Snapshot, stored: StoredBlob, vault: Vault) -> None:
    """Only the version of the profile may differ: it may change between two sendings of one conversation.

    Raises SnapshotExists, DecryptionFailed, VaultUnavailable, Unavailable.
    """
    first = load(snapshot.scope, await KeyRing(vault).unseal(snapshot.key, stored.data))
    again = replace(snapshot, profile_version=first.profile_version, profile_sha256=first.profile_sha256)
    if first.dump() != again.dump():
        raise SnapshotExists(snapshot_id=snapshot.snapshot_id)


async def _create(snapshot: Snapshot, vault: Vault) -> bool:
    """Say whether this call has created it. Raises SnapshotExists, DecryptionFailed, VaultUnavailable, Unavailable."""
    sealed = await KeyRing(vault).seal(snapshot.key, snapshot.dump())
    try:
        await vault.records.write(snapshot.key, sealed, replaces=None)
    except StoreConflict:
        stored = await vault.records.read(snapshot.key)
        if stored is None:
            raise Unavailable(dependency="blob_storage") from None
        if stored.data == sealed:
            return True
        await _check_same(snapshot, stored, vault)
        return False
    return True


async def _renew(snapshot: Snapshot, vault: Vault) -> None:
    """Have the snapshot stand although a removal of what is old may have begun while its replay was over.

    That removal takes away what it has seen before the replay was to be gone on with, and nothing that was written
    since. Raises SnapshotExists, DecryptionFailed, VaultUnavailable, Unavailable.
    """
    for _ in range(ATTEMPTS):
        stored = await vault.records.read(snapshot.key)
        if stored is None:
            await _create(snapshot, vault)
            return
        try:
            await vault.records.write(snapshot.key, stored.data, replaces=stored.storage_etag)
        except StoreConflict:
            continue
        return
    raise Unavailable(dependency="blob_storage")


async def _await_worker(snapshot: Snapshot, vault: Vault) -> Replay:
    """Have the replay wait for a worker, unless it is over, and return it. Raises HistoryCorrupt, Unavailable."""
    records, key = vault.records, replay_key(snapshot.scope, snapshot.replay_id)
    for _ in range(ATTEMPTS):
        stored = await records.read(key)
        if stored is None:
            replay = new_replay(snapshot, vault.clock.now())
        else:
            replay = replays.load(stored.data)
            if replay.status is not ReplayStatus.FAILED:
                return replay
            replay = requeued(replay, vault.clock.now())
        try:
            await records.write(key, replays.dump(replay), replaces=stored.storage_etag if stored else None)
        except StoreConflict:
            continue
        return replay
    raise Unavailable(dependency="blob_storage")


def _is_over(replay: Replay) -> bool:
    return replay.finished and replay.status is not ReplayStatus.FAILED


async def _send(job: Job, replay: Replay, queue: MessageQueue, patience: float) -> bool:
    """Whatever goes wrong here, the snapshot is stored and its job marked: nothing may turn that into a failure."""
    try:
        async with asyncio.timeout(patience):
            # A worker that has started counts one more, so that a failed replay's new job is not taken for its old one.
            return await send_job(job, attempt=replay.attempts, due=None, queue=queue)
    except TimeoutError:
        return False
    except Exception:
        log.exception("a replay could not be queued")
        return False


def _told(snapshot: Snapshot, *, queued: bool, replayed: bool) -> StoredSnapshot:
    return StoredSnapshot(snapshot.snapshot_id, snapshot.uri, snapshot.replay_id, queued=queued, replayed=replayed)
