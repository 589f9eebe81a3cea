"""Delete a user's expired snapshots, replays, conflicts, access, import and usage records, and events.

`delete_expired` is the only function through which retention deletes a user's data.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TypeVar

from memnet.domain.catalog.retention_policy import Kind, RetentionPolicy, RetentionReport, Tally, batches
from memnet.domain.core.errors import DecryptionFailed, HistoryCorrupt, MemnetError, Unavailable, VaultUnavailable
from memnet.domain.core.job import Job
from memnet.domain.core.json_types import text_member
from memnet.domain.core.scope import StorageETag, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.core.user_item import ItemKey, ItemKind, dated_at
from memnet.domain.events.event import EventKey, StoredEvent
from memnet.domain.governance.usage_records import load_usage
from memnet.domain.governance.waiting import WaitingKind
from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay import replay as replays
from memnet.domain.replay import snapshot as snapshots
from memnet.domain.replay.conflict import Conflict, ConflictStatus
from memnet.domain.replay.replay import Replay, ReplayStatus, new_replay, replay_key
from memnet.domain.replay.snapshot import replay_id_of
from memnet.operations.events.reindex_turns import unindex_snapshots
from memnet.operations.governance.legal_holds import holds_covering
from memnet.operations.replay.jobs import unmark_job
from memnet.paging import bounded, pages
from memnet.ports import StoreConflict
from memnet.service import Service
from memnet.stores import ItemStore, KeyRing, ListedEvent, read_events, unindex_events

PAGE = 500
ABANDONED = "UNAVAILABLE: the request that stored the snapshot did not end; the same request replays it."
"""The failure of a snapshot's replay whose request was never answered."""
BATCH = 64
"""The number of items that are deleted between two reads of the holds."""
T = TypeVar("T")
Remove = Callable[[Sequence[T], datetime], Awaitable[Sequence[T]]]
"""Deletes a batch, dated with the moment before the holds were read, and returns the deleted items."""


@dataclass(frozen=True, slots=True)
class RetentionRun:
    """One run over one user."""

    scope: UserScope
    policy: RetentionPolicy
    as_of: datetime
    dry_run: bool
    service: Service
    report: RetentionReport = field(default_factory=RetentionReport)
    failures: list[MemnetError] = field(default_factory=list)
    """What kept snapshots from being deleted; raised when the other items are done."""

    def retain(self, tally: Tally, kind: Kind, profile_id: str | None, at: str) -> None:
        """Count an item that has not expired, and note when it does."""
        tally.retained += 1
        self.report.expires(self.policy.expires_at(kind, profile_id, at))


async def delete_expired(
    expired: Sequence[T], remove: Remove[T], tally: Tally, *, run: RetentionRun, count: Callable[[T], int] = lambda _: 1
) -> list[T]:
    """Delete expired items in batches; return the deleted ones, or in a dry run those that would be.

    `count` returns what an item counts as. Items of a batch that `remove` does not return count as deferred. The legal
    holds are read before every batch; under a hold nothing is deleted and the batch counts as on hold. The storage
    refuses deletions of a process that was suspended after it read the holds, because they are dated with the moment
    before. Raises HistoryCorrupt, Unavailable, and what `remove` raises.
    """
    deleted: list[T] = []
    for batch in batches(expired, BATCH):
        known_at = run.service.clock.now()
        if await holds_covering(run.scope, run.service):
            tally.on_hold += sum(map(count, batch))
            continue
        removed = batch if run.dry_run else await remove(batch, known_at)
        deleted += removed
        tally.removed += sum(map(count, removed))
        tally.deferred += sum(map(count, batch)) - sum(map(count, removed))
    return deleted


@dataclass(frozen=True, slots=True)
class Expired:
    """An expired item: its key, its tag if it must be unchanged, and the job whose marker goes with it."""

    key: ItemKey
    tag: StorageETag | None
    job: Job | None = None


async def retain_snapshots(run: RetentionRun) -> frozenset[str]:
    """Delete each expired snapshot, by its profile's rule; return the ids of the replays whose snapshots stay.

    The days count from `created_at` of its replay. A snapshot is blocked while its replay has not finished. One without
    a replay belongs to a request that never ended: it gets a failed replay, and its days begin. Its messages are taken
    out of the index first; those that are marked for it are deferred, and all while it is unavailable. Raises
    HistoryCorrupt, Unavailable.
    """
    stay: set[str] = set()
    async for page in pages(partial(run.service.records.list, run.scope, ItemKind.SNAPSHOTS), PAGE):
        expired = [one for one in await bounded(partial(_expired_snapshot, run=run), page) if one is not None]
        deleted = await delete_items(expired, ItemKind.SNAPSHOTS, run)
        stay |= {replay_id_of(key) for key in page} - {replay_id_of(key) for key in deleted}
    return frozenset(stay)


async def _expired_snapshot(key: ItemKey, run: RetentionRun) -> Expired | None:
    tally, records = run.report.tallies["snapshots"], run.service.records
    try:
        replay = await _replay(key, records)
    except HistoryCorrupt:
        run.report.unreadable["snapshots"] += 1
        return None
    if replay is None:
        await _add_failed_replay(key, run)
        return None
    if replay.created_at > run.policy.last_due(Kind.SNAPSHOTS, replay.profile_id, run.as_of):
        run.retain(tally, Kind.SNAPSHOTS, replay.profile_id, replay.created_at)
        return None
    # In this order: a retry of the replay writes the snapshot again afterwards, and so changes its tag.
    stored = await records.read(key)
    replay = await _replay(key, records)
    if stored is None or replay is None or not replay.finished:
        tally.blocked += stored is not None
        if replay is not None:
            await _have_sent(replay, run)
        return None
    return Expired(key, stored.storage_etag)


async def _have_sent(replay: Replay, run: RetentionRun) -> None:
    """Mark the job of an unfinished replay again: a request that was never answered can have left it unmarked."""
    if not replay.finished and not run.dry_run:
        await run.service.marks.mark(replay.job)


async def _replay(key: ItemKey, records: ItemStore) -> Replay | None:
    stored = await records.read(replay_key(key.scope, replay_id_of(key)))
    return None if stored is None else replays.load(stored.data)


async def _add_failed_replay(key: ItemKey, run: RetentionRun) -> None:
    """Store a failed replay for a snapshot that has none."""
    service = run.service
    stored = await service.records.read(key)
    if stored is None:
        return
    try:
        snapshot = snapshots.load(key.scope, await KeyRing(service.vault).unseal(key, stored.data))
        if snapshot.key != key:
            raise DecryptionFailed
    except DecryptionFailed:
        # Its profile is unknown, and so is its rule.
        run.report.unreadable["snapshots"] += 1
        return
    except VaultUnavailable:
        run.report.tallies["snapshots"].blocked += 1
        return
    run.report.tallies["snapshots"].blocked += 1
    if not run.dry_run:
        replay = new_replay(snapshot, service.clock.now()).fail(ABANDONED, service.clock.now())
        await service.waiting.mark(key.scope, WaitingKind.FAILED_REPLAY, replay.replay_id)
        with suppress(StoreConflict):
            await service.records.write(replay.key, replays.dump(replay), replaces=None)


async def retain_jobs(run: RetentionRun, with_snapshot: frozenset[str]) -> None:
    """Delete each replay, conflict, access, import and usage record that has expired by its last change.

    A replay is blocked until it has finished and its snapshot is deleted (it is not in `with_snapshot`): otherwise the
    same snapshot, submitted again, would be replayed again. A conflict is blocked while it is open, and while its
    replay can still continue, because the replay would create it again. Raises HistoryCorrupt, Unavailable.
    """
    replayed: set[str] = set()
    tally = run.report.tallies["replays"]
    async for found in loaded_items(ItemKind.REPLAYS, replays.load, run):
        expired = []
        for replay, tag in found:
            if replay.updated_at > run.policy.last_due(Kind.JOBS, replay.profile_id, run.as_of):
                run.retain(tally, Kind.JOBS, replay.profile_id, replay.updated_at)
            elif not replay.finished or replay.replay_id in with_snapshot:
                tally.blocked += 1
                await _have_sent(replay, run)
            else:
                expired.append(Expired(replay.key, tag, replay.job))
        replayed |= {key.name for key in await delete_items(expired, ItemKind.REPLAYS, run)}
    await _retain_conflicts(run, replayed)
    for kind in (ItemKind.ACCESSES, ItemKind.IMPORTS):
        await _retain_dated(kind, run)
    await _retain_usage(run)


async def _retain_conflicts(run: RetentionRun, without_replay: set[str]) -> None:
    tally = run.report.tallies["conflicts"]
    async for found in loaded_items(ItemKind.CONFLICTS, conflicts.load, run):
        expired = []
        for conflict, tag in found:
            if conflict.updated_at > run.policy.last_due(Kind.JOBS, conflict.profile_id, run.as_of):
                run.retain(tally, Kind.JOBS, conflict.profile_id, conflict.updated_at)
            elif conflict.status is ConflictStatus.OPEN or (
                conflict.replay_id not in without_replay and await _may_continue(conflict, run.service.records)
            ):
                tally.blocked += 1
            else:
                expired.append(Expired(conflict.key, tag, conflict.job))
        await delete_items(expired, ItemKind.CONFLICTS, run)


async def _may_continue(conflict: Conflict, records: ItemStore) -> bool:
    """Return whether the conflict's replay has not ended, or can be retried."""
    stored = await records.read(replay_key(conflict.scope, conflict.replay_id))
    if stored is None:
        return False
    try:
        replay = replays.load(stored.data)
    except HistoryCorrupt:
        return False
    return not replay.finished or replay.status is ReplayStatus.FAILED


async def _retain_dated(kind: ItemKind, run: RetentionRun) -> None:
    """Delete expired records that name no profile and are dated by their names."""
    tally, last_due = run.report.tallies[kind.value], run.policy.last_due(Kind.JOBS, None, run.as_of)
    async for page in pages(partial(run.service.records.list, run.scope, kind), PAGE):
        expired = []
        for key in page:
            at = dated_at(key)
            if at is None:
                run.report.unreadable[kind.value] += 1
            elif at > last_due:
                run.retain(tally, Kind.JOBS, None, at)
            else:
                expired.append(Expired(key, None))
        await delete_items(expired, kind, run)


async def _retain_usage(run: RetentionRun) -> None:
    """Delete a usage record that has not changed for as long as the longest rule says."""
    last_due = run.policy.last_due(Kind.JOBS, None, run.as_of)
    async for found in loaded_items(ItemKind.USAGE, load_usage, run):
        expired = []
        for usage, tag in found:
            if usage.updated_at > last_due:
                run.retain(run.report.tallies["usage"], Kind.JOBS, None, usage.updated_at)
            else:
                expired.append(Expired(usage.key, tag))
        await delete_items(expired, ItemKind.USAGE, run)


async def loaded_items(
    kind: ItemKind, load: Callable[[bytes], T], run: RetentionRun
) -> AsyncIterator[Sequence[tuple[T, StorageETag]]]:
    """Yield the records of one kind and their tags, a page at a time; unreadable ones are counted."""
    records = run.service.records
    async for page in pages(partial(records.list, run.scope, kind), PAGE):
        found = []
        for stored in await bounded(records.read, page):
            try:
                found += [] if stored is None else [(load(stored.data), stored.storage_etag)]
            except HistoryCorrupt:
                run.report.unreadable[kind.value] += 1
        yield found


async def delete_items(expired: Sequence[Expired], kind: ItemKind, run: RetentionRun) -> set[ItemKey]:
    """Delete the records that are unchanged, and the markers of their jobs; return the keys of the deleted ones."""
    service = run.service

    async def remove(batch: Sequence[Expired], known_at: datetime) -> Sequence[Expired]:
        if kind is ItemKind.SNAPSHOTS:
            batch = await _unindexed(batch, run)

        async def one(item: Expired) -> bool:
            try:
                await service.records.delete(item.key, tag=item.tag, known_at=known_at)
            except StoreConflict:
                return False
            if item.job is not None:
                await unmark_job(item.job, service)
            return True

        return [item for item, is_gone in zip(batch, await bounded(one, batch), strict=True) if is_gone]

    return {item.key for item in await delete_expired(expired, remove, run.report.tallies[kind.value], run=run)}


async def _unindexed(batch: Sequence[Expired], run: RetentionRun) -> Sequence[Expired]:
    """Return the snapshots that the index no longer holds; none while it or the vault is unavailable."""
    try:
        free = await unindex_snapshots([item.key for item in batch], run.service)
    except (Unavailable, VaultUnavailable) as error:
        run.failures.append(error)
        return ()
    return [item for item in batch if item.key in free]


async def retain_events(run: RetentionRun) -> None:
    """Delete expired events; days count from the event's own time or from its storage, whichever was first.

    The rule is that of the profile in the event's evidence, which a replay writes; without one, the longest of all. A
    failing index does not stop the run: the reconciliation deletes the index documents of marked events. Raises
    HistoryCorrupt, Unavailable.
    """
    service, tally = run.service, run.report.tallies["events"]

    async def remove(keys: Sequence[EventKey], known_at: datetime) -> Sequence[EventKey]:
        async def one(key: EventKey) -> None:
            # The marker first: after an interruption the reconciliation still finds the index documents.
            await service.events.mark(key, service.ids.new())
            await service.events.delete(key, known_at=known_at)

        await bounded(one, keys)
        with suppress(Unavailable):
            await unindex_events(keys, search=service.search)
        return keys

    async for page in pages(partial(service.events.list_of_user, run.scope), PAGE):
        found = await read_events([row.key for row in page], events=service.events)
        expired = []
        for row in page:
            if row.key not in found:
                continue
            stored = found[row.key]
            if stored is None:
                run.report.unreadable["events"] += 1
            elif (at := _counted_from(stored, row)) <= run.policy.last_due(*_rule(stored), run.as_of):
                expired.append(row.key)
            else:
                run.retain(tally, *_rule(stored), at)
        await delete_expired(expired, remove, tally, run=run)


def _rule(stored: StoredEvent) -> tuple[Kind, str | None]:
    """Return the kind and the profile whose rule applies."""
    return Kind.EVENTS, text_member(stored.event.evidence_members, "profile_id")


def _counted_from(stored: StoredEvent, row: ListedEvent) -> str:
    return min(stored.event.timestamp, to_text(row.since))
