"""Remove a user's conversation snapshots that are over."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memnet.domain.catalog.retention_policy import Kind
from memnet.domain.core.errors import DecryptionFailed, HistoryCorrupt, VaultUnavailable
from memnet.domain.core.scope import StorageETag
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.replay import replay as replays
from memnet.domain.replay import snapshot as snapshots
from memnet.domain.replay.replay import Replay, failed, new_replay, replay_key
from memnet.domain.replay.snapshot import replay_id_of
from memnet.operations.governance.delete_expired import RetentionRun, delete_expired
from memnet.operations.sealing.key_ring import KeyRing
from memnet.ports import StoreConflict
from memnet.service import Service
from memnet.stores import RecordStore

PAGE = 500
AT_ONCE = 16
ABANDONED = "UNAVAILABLE: the request that stored the snapshot did not end; the same request replays it."
"""Why the replay of a snapshot failed that nobody was told to be stored."""


@dataclass(frozen=True, slots=True)
class _Due:
    key: ItemKey
    tag: StorageETag


async def retain_snapshots(service: Service, *, run: RetentionRun) -> frozenset[str]:
    """Remove each whose days are over, counted from when it was first stored, by its profile's rule.

    Its replay's record says when that was and under which profile. One whose replay is not over is still needed and
    waits. One without such a record is that of a request that never ended: it gets one, and its days begin. Returns
    the ids of the replays whose snapshots stay. Raises HistoryCorrupt, Unavailable.
    """
    stay: set[str] = set()
    cursor: str | None = None
    gate = asyncio.Semaphore(AT_ONCE)

    async def look(key: ItemKey) -> _Due | None:
        async with gate:
            return await _look(key, run, service)

    async def remove(due: Sequence[_Due], known_at: datetime) -> Sequence[_Due]:
        gone = await asyncio.gather(*(_remove(one, known_at, service.records) for one in due))
        return [one for one, is_gone in zip(due, gone, strict=True) if is_gone]

    while True:
        page = await service.records.list(run.scope, ItemKind.SNAPSHOTS, limit=PAGE, cursor=cursor)
        found = [due for due in await asyncio.gather(*map(look, page.items)) if due is not None]
        gone = await delete_expired(found, remove, run.report.tallies["snapshots"], run=run)
        stay |= {replay_id_of(key) for key in page.items} - {replay_id_of(one.key) for one in gone}
        cursor = page.next_cursor
        if cursor is None:
            return frozenset(stay)


async def _look(key: ItemKey, run: RetentionRun, service: Service) -> _Due | None:
    tally = run.report.tallies["snapshots"]
    try:
        replay = await _replay(key, service.records)
    except HistoryCorrupt:
        run.report.unreadable["snapshots"] += 1
        return None
    if replay is None:
        await _adopt(key, run, service)
        return None
    if replay.created_at > run.policy.last_due(Kind.SNAPSHOTS, replay.profile_id, run.as_of):
        tally.retained += 1
        return None
    # In this order: who has the replay begin anew writes the snapshot once more after that, and so changes its tag.
    stored = await service.records.read(key)
    replay = await _replay(key, service.records)
    if stored is None or replay is None or not replay.finished:
        tally.blocked += stored is not None
        return None
    return _Due(key, stored.storage_etag)


async def _replay(key: ItemKey, records: RecordStore) -> Replay | None:
    stored = await records.read(replay_key(key.scope, replay_id_of(key)))
    return None if stored is None else replays.load(stored.data)


async def _adopt(key: ItemKey, run: RetentionRun, service: Service) -> None:
    stored = await service.records.read(key)
    if stored is None:
        return
    tally = run.report.tallies["snapshots"]
    try:
        snapshot = snapshots.load(key.scope, await KeyRing(service.vault).unseal(key, stored.data))
        if snapshot.key != key:
            raise DecryptionFailed
    except DecryptionFailed:
        # Nobody can tell whose rule it goes by.
        run.report.unreadable["snapshots"] += 1
        return
    except VaultUnavailable:
        tally.blocked += 1
        return
    tally.blocked += 1
    if not run.dry_run:
        replay = failed(new_replay(snapshot, service.clock.now()), ABANDONED, service.clock.now())
        try:
            await service.records.write(replay.key, replays.dump(replay), replaces=None)
        except StoreConflict:
            return


async def _remove(due: _Due, known_at: datetime, records: RecordStore) -> bool:
    try:
        await records.delete(due.key, tag=due.tag, known_at=known_at)
    except StoreConflict:
        return False
    return True
