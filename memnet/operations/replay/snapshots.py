"""Store a conversation snapshot, read it, and list the reads."""

import asyncio
import logging
from dataclasses import dataclass, replace
from functools import partial

from memnet.domain.core.access_record import AccessRecord
from memnet.domain.core.errors import SnapshotExists, SnapshotNotFound, Unavailable
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.core.user_item import ItemKind
from memnet.domain.replay import replay as replays
from memnet.domain.replay.replay import Replay, ReplayStatus, new_replay, replay_key
from memnet.domain.replay.searchable_turn import is_searchable
from memnet.domain.replay.snapshot import Conversation, Snapshot, access_of, load, snapshot_key, take
from memnet.operations.replay.closed_sources import check_open, read_closed_sources
from memnet.operations.replay.jobs import send_job
from memnet.paging import bounded, retry_conflicts
from memnet.ports import MessageQueue, Page, StoreConflict, StoredBlob
from memnet.service import Service
from memnet.stores import FenceCheck, ItemStore, KeyRing, Vault

SEND_SECONDS = 5.0
"""How long a response waits for the broker. After that the marker has the job sent."""
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """The result of storing a snapshot."""

    snapshot_id: str
    snapshot_uri: str
    replay_id: str
    queued: bool
    """Whether the broker has confirmed the job now."""
    replayed: bool
    """Whether the same snapshot was stored before."""


async def store_snapshot(
    scope: UserScope,
    conversation_id: str,
    conversation: Conversation,
    service: Service,
    *,
    actor: Actor,
    send_seconds: float = SEND_SECONDS,
) -> StoredSnapshot:
    """Mark the replay's job, create the sealed snapshot and the replay's record, then send the job, in this order.

    A snapshot of a profile with searchable turns is marked for the index before it is created.

    The job's marker, the snapshot and the record are durable when this returns; if the send failed, the marker has the
    job sent later. After a crash the same request completes the work. The same snapshot again sends an unfinished
    replay again, retries a failed one and leaves a finished one unchanged.

    Raises:
        SnapshotExists: Another conversation has this id.
        SourceRetracted: The conversation, this snapshot or a message of it was taken back; nothing is stored.
        ProfileNotFound, ProfileForbidden, InvalidIdentifier, DecryptionFailed, HistoryCorrupt, ErasureRunning,
        VaultUnavailable, Unavailable.
    """
    profile = service.catalog.permitted(conversation.profile_id, actor)
    snapshot = take(conversation, scope, conversation_id, actor.principal, profile)
    result = StoredSnapshot(snapshot.snapshot_id, snapshot.uri, snapshot.replay_id, queued=False, replayed=True)
    stored, known, checked, closed = await asyncio.gather(
        service.records.read(snapshot.key),
        service.records.read(replay_key(scope, snapshot.replay_id)),
        service.records.check_to_write(scope),
        read_closed_sources(scope, service.records),
    )
    check_open(closed, [snapshot], service.clock.now())
    if stored is not None:
        await _check_same(snapshot, stored, service.vault)
        if known is not None and is_done(replays.load(known.data)):
            return result
    job = Job(JobKind.REPLAY, scope.tenant_id, scope.user_id, snapshot.replay_id)
    await service.marks.mark(job, checked=checked)
    if stored is None and is_searchable(profile):
        await service.turn_marks.mark(snapshot.key, checked=checked)
    created = stored is None and await _create(snapshot, service.vault, checked)
    result = replace(result, replayed=not created)
    replay = await retry_conflicts(partial(_queue, snapshot, service.vault, checked))
    if known is not None:
        await retry_conflicts(partial(renew_snapshot, snapshot, service.vault))
    if is_done(replay):
        # It finished between the first read and the marker, so no worker would remove the marker.
        await service.marks.unmark(job)
        return result
    queued = await _send(job, replay, service.queue, send_seconds)
    if not queued:
        # Marked again: a reader that saw the marker without a record, or with a failed replay, may have removed it.
        await service.marks.mark(job, checked=checked)
    return replace(result, queued=queued)


async def _check_same(snapshot: Snapshot, stored: StoredBlob, vault: Vault) -> None:
    """Raise SnapshotExists if the contents differ. The profile's version may differ, as it can change between calls."""
    first = load(snapshot.scope, await KeyRing(vault).unseal(snapshot.key, stored.data))
    again = replace(snapshot, profile_version=first.profile_version, profile_sha256=first.profile_sha256)
    if first.dump() != again.dump():
        raise SnapshotExists(snapshot_id=snapshot.snapshot_id)


async def _create(snapshot: Snapshot, vault: Vault, checked: FenceCheck | None = None) -> bool:
    """Create the snapshot, and return whether this call did."""
    sealed = await KeyRing(vault).seal(snapshot.key, snapshot.dump())
    try:
        await vault.records.write(snapshot.key, sealed, replaces=None, checked=checked)
    except StoreConflict:
        stored = await vault.records.read(snapshot.key)
        if stored is None:
            raise Unavailable(dependency="blob_storage") from None
        if stored.data == sealed:
            return True
        await _check_same(snapshot, stored, vault)
        return False
    return True


async def renew_snapshot(snapshot: Snapshot, vault: Vault) -> None:
    """Write the snapshot again, so that a retention run that saw its replay as finished cannot delete it.

    Retention deletes a snapshot only with the storage ETag that it read before it read the replay.
    """
    stored = await vault.records.read(snapshot.key)
    if stored is None:
        await _create(snapshot, vault)
    else:
        await vault.records.write(snapshot.key, stored.data, replaces=stored.storage_etag)


async def _queue(snapshot: Snapshot, vault: Vault, checked: FenceCheck) -> Replay:
    """Create the replay's record, or queue a failed one again, and return it."""
    key = replay_key(snapshot.scope, snapshot.replay_id)
    stored = await vault.records.read(key)
    if stored is None:
        replay = new_replay(snapshot, vault.clock.now())
    else:
        replay = replays.load(stored.data)
        if replay.status is not ReplayStatus.FAILED:
            return replay
        replay = replay.requeue(vault.clock.now())
    tag = stored.storage_etag if stored else None
    await vault.records.write(key, replays.dump(replay), replaces=tag, checked=checked)
    return replay


def is_done(replay: Replay) -> bool:
    """Return whether a replay has ended and is not retried by the same request."""
    return replay.finished and replay.status is not ReplayStatus.FAILED


async def _send(job: Job, replay: Replay, queue: MessageQueue, seconds: float) -> bool:
    """Send the job. No failure is raised, because the snapshot is stored and its job is marked."""
    try:
        async with asyncio.timeout(seconds):
            # A started worker has counted one more, so a failed replay's new job differs from the old one.
            return await send_job(job, attempt=replay.attempts, due=None, queue=queue)
    except TimeoutError:
        return False
    except Exception:
        log.exception("a replay could not be queued")
        return False


async def read_snapshot(
    scope: UserScope, conversation_id: str, snapshot_id: str, *, actor: Actor, vault: Vault
) -> Snapshot:
    """Unseal the snapshot, store the record that `actor` read it, and only then return it.

    Raises InvalidIdentifier, SnapshotNotFound, DecryptionFailed, VaultUnavailable, Unavailable.
    """
    key = snapshot_key(scope, conversation_id, snapshot_id)
    stored = await vault.records.read(key)
    if stored is None:
        raise SnapshotNotFound()
    found = load(scope, await KeyRing(vault).unseal(key, stored.data))
    await record_access(access_of(found, actor, vault.clock.now(), vault.ids.new()), vault.records)
    return found


async def record_access(access: AccessRecord, records: ItemStore) -> None:
    """Store the record of an access. Raises ErasureRunning, Unavailable."""
    try:
        await records.write(access.key, access.data, replaces=None)
    except StoreConflict:
        # The name is unique to this call: either an earlier attempt of this write was applied, or it failed.
        stored = await records.read(access.key)
        if stored is None or stored.data != access.data:
            raise Unavailable(dependency="blob_storage") from None


async def list_snapshot_reads(scope: UserScope, *, limit: int, cursor: str | None, records: ItemStore) -> Page[bytes]:
    """Return up to `limit` records of reads and exports as JSON, oldest first. Raises InvalidCursor, Unavailable."""
    page = await records.list(scope, ItemKind.ACCESSES, limit=limit, cursor=cursor)
    found = await bounded(records.read, page.items)
    return Page([stored.data for stored in found if stored is not None], page.next_cursor)
