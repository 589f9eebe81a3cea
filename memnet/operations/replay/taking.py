"""Take turns: one replay extracts all turns of its conversation that no other replay has taken.

The replay's record names the turns that it may take before it takes any, and each taken turn's record names the replay.
The plan names those that it contains; a turn that it does not contain is replayed on its own. So a worker may crash
between any two writes.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate

from memnet.domain.core.errors import DecryptionFailed, HistoryCorrupt, SnapshotNotFound
from memnet.domain.core.job import Job
from memnet.domain.core.scope import StorageETag
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.replay import replay as replays
from memnet.domain.replay import snapshot as snapshots
from memnet.domain.replay.material import Material, combine
from memnet.domain.replay.replay import Replay, ReplayStatus, replay_key
from memnet.domain.replay.snapshot import Snapshot, snapshot_key
from memnet.operations.replay.jobs import unmark_job
from memnet.operations.replay.silence import read_replay, rules_of, unfinished_replays
from memnet.paging import bounded, retry_conflicts
from memnet.ports import StoreConflict
from memnet.service import Service
from memnet.stores import KeyRing, Vault

MAX_TAKEN = 100
"""The other turns that one replay takes; the next replay takes the rest."""
MAX_CHARS = 120_000
"""Characters of the taken turns together, less than a model is given; a longer turn is replayed alone."""
MAX_EARLIER_SNAPSHOTS = 20
"""The snapshots that are read for earlier messages."""


async def find_untaken(replay: Replay, service: Service) -> Sequence[str]:
    """Return the ids of the other replays whose turns a replay can take, in the order in which they were submitted.

    Raises HistoryCorrupt, Unavailable.
    """
    others = [row.job.job_id for row in await unfinished_replays(replay, service) if row.job.job_id != replay.replay_id]

    async def untaken(replay_id: str) -> Replay | None:
        try:
            return await read_replay(replay_id, replay, service)
        except HistoryCorrupt:
            # Its own job reports it.
            return None

    found = await bounded(untaken, others[:MAX_TAKEN])
    return [one.replay_id for one in found if one and one.may_be_covered and one.is_of_conversation(replay)]


async def take_turns(replay: Replay, own: Snapshot, service: Service) -> Sequence[Snapshot]:
    """Take the turns that the started replay may take, with one conditional write each; return their snapshots.

    The first ones are taken, as many as fit with its `own`. A turn that another worker has started or taken is left to
    it. The same call again returns those taken before. Raises HistoryCorrupt, VaultUnavailable, Unavailable.
    """

    async def read(replay_id: str) -> tuple[Replay, StorageETag, Snapshot] | None:
        stored = await service.records.read(replay_key(replay.scope, replay_id))
        found = replays.load(stored.data) if stored else None
        if stored is None or found is None or not (found.covered_by == replay.replay_id or found.may_be_covered):
            return None
        # Its own job reports what is wrong with it.
        with suppress(SnapshotNotFound, DecryptionFailed):
            return found, stored.storage_etag, await read_own_snapshot(found, service.vault)
        return None

    async def take(row: tuple[Replay, StorageETag, Snapshot]) -> Snapshot | None:
        found, tag, snapshot = row
        if found.covered_by is None:
            found = found.cover(replay.replay_id, service.clock.now())
            try:
                await service.records.write(found.key, replays.dump(found), replaces=tag)
            except StoreConflict:
                return None
        return snapshot

    found = [row for row in await bounded(read, replay.covers) if row is not None]
    found.sort(key=lambda row: (row[2].messages[0].timestamp, row[2].snapshot_id))
    sizes = accumulate((_size(row[2]) for row in found), initial=_size(own))
    fitting = [row for row, size in zip(found, list(sizes)[1:], strict=True) if size <= MAX_CHARS]
    return [snapshot for snapshot in await bounded(take, fitting) if snapshot is not None]


async def end_taken(taker: Replay, service: Service) -> None:
    """End the replays whose turns an ended replay has taken, and remove their markers.

    Raises HistoryCorrupt, Unavailable.
    """

    async def end(replay_id: str) -> None:
        ended = await end_one(replace(taker.job, job_id=replay_id), taker.replay_id, taker, service)
        if ended is not None and ended.finished:
            await unmark_job(ended.job, service)

    await bounded(end, taker.covers)


async def end_one(job: Job, taker_id: str, taker: Replay | None, service: Service) -> Replay | None:
    """End the replay of a job as the ended one that has taken its turn, and return it; None if there is none.

    A taker that is gone or retracted, or whose plan does not contain the turn, releases it: it is replayed on its own.
    A replay that the taker has not taken, and one that was retracted, stay unchanged. Raises HistoryCorrupt,
    Unavailable.
    """

    async def end() -> Replay | None:
        stored = await service.records.read(replay_key(job.scope, job.job_id))
        found = replays.load(stored.data) if stored else None
        if stored is None or found is None or found.covered_by != taker_id:
            return found
        if taker is not None and found.status is taker.status:
            return found
        is_retracted = taker is not None and taker.status is ReplayStatus.RETRACTED
        if found.status is ReplayStatus.RETRACTED or (is_retracted and found.finished):
            return found
        now = service.clock.now()
        is_contained = taker is not None and job.job_id in taker.covers and not is_retracted
        found = found.end_as(taker, now) if taker is not None and is_contained else found.release(now)
        await service.records.write(found.key, replays.dump(found), replaces=stored.storage_etag)
        return found

    return await retry_conflicts(end)


async def load_material(replay: Replay, service: Service) -> tuple[Material, Sequence[str]]:
    """Take the turns, and return their messages and the ids of the replays whose turns are among them.

    Nothing is taken for a replay whose own snapshot cannot be read. Raises SnapshotNotFound, DecryptionFailed,
    ProfileNotFound, HistoryCorrupt, VaultUnavailable, Unavailable.
    """
    own = await read_own_snapshot(replay, service.vault)
    if not replay.is_turn:
        return Material(own), ()
    turns = await take_turns(replay, own, service)
    limit = rules_of(replay, service).earlier_messages
    earlier = await _read_earlier(own, {own.uri, *(one.uri for one in turns)}, service) if limit else ()
    return combine(own, turns, earlier, limit), [one.replay_id for one in turns]


async def read_own_snapshot(replay: Replay, vault: Vault) -> Snapshot:
    """Unseal the snapshot of a replay. Raises SnapshotNotFound, DecryptionFailed, VaultUnavailable, Unavailable."""
    snapshot = await unseal_snapshot(snapshot_key(replay.scope, replay.conversation_id, replay.snapshot_id), vault)
    if snapshot is None:
        raise SnapshotNotFound()
    if snapshot.replay_id != replay.replay_id or snapshot.profile_id != replay.profile_id:
        raise DecryptionFailed("The snapshot does not belong to this replay.")
    return snapshot


async def _read_earlier(own: Snapshot, but: set[str], service: Service) -> Sequence[Snapshot]:
    """Return the newest other snapshots of the conversation, of the same profile and service."""
    page = await service.records.list_newest(
        own.scope, ItemKind.SNAPSHOTS, folder=own.conversation_id, limit=MAX_EARLIER_SNAPSHOTS + len(but), cursor=None
    )
    keys = [item.key for item in page.items if snapshots.uri_of(item.key) not in but][:MAX_EARLIER_SNAPSHOTS]

    async def read(key: ItemKey) -> Snapshot | None:
        # It only gives context: without it the turn is still replayed.
        with suppress(DecryptionFailed):
            return await unseal_snapshot(key, service.vault)
        return None

    found = filter(None, await bounded(read, keys))
    return [one for one in found if (one.profile_id, one.service_id) == (own.profile_id, own.service_id)]


async def unseal_snapshot(key: ItemKey, vault: Vault) -> Snapshot | None:
    """Return a stored snapshot, or None if there is none. Raises DecryptionFailed, VaultUnavailable, Unavailable."""
    stored = await vault.records.read(key)
    return None if stored is None else snapshots.load(key.scope, await KeyRing(vault).unseal(key, stored.data))


def _size(snapshot: Snapshot) -> int:
    return sum(len(message.content) for message in snapshot.messages)
