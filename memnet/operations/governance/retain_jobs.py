"""Remove expired replays, closed conflicts, and the records of who read a snapshot or imported an archive."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from memnet.domain.catalog.retention_policy import Kind
from memnet.domain.core.errors import HistoryCorrupt
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import StorageETag
from memnet.domain.core.user_item import ItemKey, ItemKind, dated_at
from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay import replay as replays
from memnet.domain.replay.conflict import Conflict, ConflictStatus
from memnet.domain.replay.replay import Replay, ReplayStatus, replay_key
from memnet.operations.governance.delete_expired import Remove, RetentionRun, delete_expired
from memnet.operations.replay.unmark_job import unmark_job
from memnet.ports import StoreConflict, StoredDocument
from memnet.service import Service
from memnet.stores import RecordStore

PAGE = 500
AT_ONCE = 16
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Due:
    key: ItemKey
    tag: StorageETag | None
    job: Job | None = None


async def retain_jobs(service: Service, *, run: RetentionRun, with_snapshot: frozenset[str]) -> None:
    """Remove each that has not changed for as many days as its profile keeps jobs.

    A replay that has not ended, or whose snapshot stays (it is among `with_snapshot`), waits: the snapshot, sent again,
    would be replayed again. A conflict waits while it is open, and while its replay can still continue, because the
    replay would open it again. Raises HistoryCorrupt, Unavailable.
    """
    gone = await _retain_replays(run, with_snapshot, service)
    await _retain_conflicts(run, gone, service)
    for kind in (ItemKind.ACCESSES, ItemKind.IMPORTS):
        await _retain_dated(kind, run, service)


async def _retain_replays(run: RetentionRun, with_snapshot: frozenset[str], service: Service) -> frozenset[str]:
    tally = run.report.tallies["replays"]
    gone: set[str] = set()
    async for found in _read(ItemKind.REPLAYS, replays.load, run, service.records):
        due = []
        for replay, tag in found:
            if replay.updated_at > run.policy.last_due(Kind.JOBS, replay.profile_id, run.as_of):
                tally.retained += 1
            elif not replay.finished or replay.replay_id in with_snapshot:
                tally.blocked += 1
            else:
                due.append(_Due(replay.key, tag, _job(replay)))
        gone |= {one.key.name for one in await delete_expired(due, _remover(service), tally, run=run)}
    return frozenset(gone)


async def _retain_conflicts(run: RetentionRun, gone: frozenset[str], service: Service) -> None:
    tally = run.report.tallies["conflicts"]
    async for found in _read(ItemKind.CONFLICTS, conflicts.load, run, service.records):
        due = []
        for conflict, tag in found:
            if conflict.updated_at > run.policy.last_due(Kind.JOBS, conflict.profile_id, run.as_of):
                tally.retained += 1
            elif conflict.status is ConflictStatus.OPEN or (
                conflict.replay_id not in gone and await _may_go_on(conflict, service.records)
            ):
                tally.blocked += 1
            else:
                due.append(_Due(conflict.key, tag, conflict.job))
        await delete_expired(due, _remover(service), tally, run=run)


async def _may_go_on(conflict: Conflict, records: RecordStore) -> bool:
    stored = await records.read(replay_key(conflict.scope, conflict.replay_id))
    if stored is None:
        return False
    try:
        replay = replays.load(stored.data)
    except HistoryCorrupt:
        return False
    return not replay.finished or replay.status is ReplayStatus.FAILED


async def _retain_dated(kind: ItemKind, run: RetentionRun, service: Service) -> None:
    """Remove expired records that name no profile, and whose names hold the time they were made."""
    tally, cursor = run.report.tallies[kind.value], None
    last_due = run.policy.last_due(Kind.JOBS, None, run.as_of)
    while True:
        page = await service.records.list(run.scope, kind, limit=PAGE, cursor=cursor)
        due = []
        for key in page.items:
            at = dated_at(key)
            if at is None:
                run.report.unreadable[kind.value] += 1
            elif at > last_due:
                tally.retained += 1
            else:
                due.append(_Due(key, None))
        await delete_expired(due, _remover(service), tally, run=run)
        cursor = page.next_cursor
        if cursor is None:
            return


async def _read(
    kind: ItemKind, load: Callable[[bytes], T], run: RetentionRun, records: RecordStore
) -> AsyncIterator[Sequence[tuple[T, StorageETag]]]:
    """The records of one kind, a page at a time; those that cannot be read are counted."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def read(key: ItemKey) -> StoredDocument | None:
        async with gate:
            return await records.read(key)

    cursor: str | None = None
    while True:
        page = await records.list(run.scope, kind, limit=PAGE, cursor=cursor)
        found = []
        for stored in await asyncio.gather(*map(read, page.items)):
            try:
                found += [] if stored is None else [(load(stored.data), stored.storage_etag)]
            except HistoryCorrupt:
                run.report.unreadable[kind.value] += 1
        yield found
        cursor = page.next_cursor
        if cursor is None:
            return


def _remover(service: Service) -> Remove[_Due]:
    async def one(due: _Due, known_at: datetime) -> bool:
        try:
            await service.records.delete(due.key, tag=due.tag, known_at=known_at)
        except StoreConflict:
            return False
        if due.job is not None:
            await unmark_job(due.job, service)
        return True

    async def remove(due: Sequence[_Due], known_at: datetime) -> Sequence[_Due]:
        gone = await asyncio.gather(*(one(item, known_at) for item in due))
        return [item for item, is_gone in zip(due, gone, strict=True) if is_gone]

    return remove


def _job(replay: Replay) -> Job:
    return Job(JobKind.REPLAY, replay.scope.tenant_id, replay.scope.user_id, replay.replay_id)
