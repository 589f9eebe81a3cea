"""Close the replays and remove the conflicts that rest on a withdrawn source, and put them back."""

from dataclasses import replace

from memnet.domain.catalog.retention_policy import Kind
from memnet.domain.core.scope import StorageETag, UserScope
from memnet.domain.governance.waiting import WaitingKind
from memnet.domain.governance.withdrawn import ClosedSources, Fate, PlannedItem, Withdrawal
from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay import replay as replays
from memnet.domain.replay import replay_plan
from memnet.domain.replay.conflict import ConflictStatus, conflict_key
from memnet.domain.replay.replay import Replay, ReplayStatus, replay_key
from memnet.operations.replay.jobs import send_job, unmark_job
from memnet.operations.replay.withdrawn_copies import keep_copy, read_copy
from memnet.paging import retry_conflicts
from memnet.ports import StoreConflict
from memnet.service import Service
from memnet.stores import KeyRing


async def close_replay(scope: UserScope, item: PlannedItem, withdrawal: Withdrawal, service: Service) -> None:
    """End a replay as retracted, or, with the fate `strip`, take from its plan what cites the source.

    The next conditional write of a worker that runs it is refused, so it stops, or continues with the rest.
    """

    async def close() -> None:
        stored = await service.records.read(replay_key(scope, item.name))
        if stored is None:
            return
        replay = replays.load(stored.data)
        if item.fate is Fate.STRIP and replay.status not in (ReplayStatus.SUCCEEDED, ReplayStatus.PARTIAL):
            await _strip(replay, withdrawal, stored.storage_etag, service)
            return
        if replay.status is not ReplayStatus.RETRACTED:
            named, since = replay.profile_id, replay.updated_at
            await keep_copy(
                scope, item, withdrawal, stored.data, service, rule=Kind.JOBS, since=since, profile_id=named
            )
            ended = replay.retract(withdrawal.retraction_id, service.clock.now())
            await service.records.write(replay.key, replays.dump(ended), replaces=stored.storage_etag)
        await unmark_job(replay.job, service)

    await retry_conflicts(close)


async def _strip(replay: Replay, withdrawal: Withdrawal, tag: StorageETag, service: Service) -> None:
    if replay.sealed is None:
        return
    plaintext = await KeyRing(service.vault).unseal_member(replay.key, replay.sealed)
    plan = replay_plan.load(replay.scope, plaintext)
    left, plan = ClosedSources((withdrawal,)).strip(replay, plan, service.clock.now())
    if left is not replay:
        sealed = await KeyRing(service.vault).seal_member(replay.key, plan.dump())
        await service.records.write(replay.key, replays.dump(replace(left, sealed=sealed)), replaces=tag)


async def reopen_replay(scope: UserScope, item: PlannedItem, withdrawal: Withdrawal, service: Service) -> bool:
    """Put the record of a replay back; one that had not finished is queued again."""
    data = await read_copy(scope, item, withdrawal, service)
    if data is None:
        return False
    before = replays.load(data)

    async def reopen() -> bool:
        stored = await service.records.read(before.key)
        if stored is not None and stored.data != data:
            if replays.load(stored.data).retracted_by != withdrawal.retraction_id:
                return False
            if not before.finished:
                await service.marks.mark(before.job)
            if before.status is ReplayStatus.FAILED:
                await service.waiting.mark(scope, WaitingKind.FAILED_REPLAY, before.replay_id)
            await service.records.write(before.key, data, replaces=stored.storage_etag)
        return stored is not None

    is_back = await retry_conflicts(reopen)
    if is_back and not before.finished:
        await send_job(before.job, attempt=before.attempts, due=None, queue=service.queue)
    return is_back


async def remove_conflict(scope: UserScope, item: PlannedItem, withdrawal: Withdrawal, service: Service) -> None:
    """Delete a conflict, whatever its status, and the marker of its job."""
    key = conflict_key(scope, item.name)

    async def remove() -> None:
        stored = await service.records.read(key)
        if stored is None:
            return
        conflict = conflicts.load(stored.data)
        named, since = conflict.profile_id, conflict.updated_at
        await keep_copy(scope, item, withdrawal, stored.data, service, rule=Kind.JOBS, since=since, profile_id=named)
        await service.records.delete(key, tag=stored.storage_etag)
        await unmark_job(conflict.job, service)

    await retry_conflicts(remove)


async def restore_conflict(scope: UserScope, item: PlannedItem, withdrawal: Withdrawal, service: Service) -> bool:
    """Put a conflict back; an open one waits again, and its next retry is scheduled as before."""
    data = await read_copy(scope, item, withdrawal, service)
    if data is None:
        return False
    conflict = conflicts.load(data)
    if conflict.next_attempt_at is not None:
        await service.marks.mark(conflict.job)
    if conflict.status is ConflictStatus.OPEN:
        await service.waiting.mark(scope, WaitingKind.CONFLICT, conflict.conflict_id)
    try:
        await service.records.write(conflict.key, data, replaces=None)
    except StoreConflict:
        stored = await service.records.read(conflict.key)
        return stored is not None and stored.data == data
    return True
