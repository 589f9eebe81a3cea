"""Get and list replays, and retry them; find, send and unmark the jobs of users."""

import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from memnet.domain.core.errors import ProfileNotFound, ReplayNotFound, SourceRetracted, Unavailable
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import UserScope
from memnet.domain.core.timestamps import from_text
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.governance import retraction as retractions
from memnet.domain.governance.retraction import retraction_key
from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay import replay as replays
from memnet.domain.replay.conflict import conflict_key
from memnet.domain.replay.replay import PatchResult, Replay, ReplayStatus, replay_key
from memnet.domain.replay.snapshot import replay_id_of
from memnet.operations.replay.silence import find_silence
from memnet.paging import bounded, retry_conflicts
from memnet.ports import MessageQueue, Page, StoreConflict
from memnet.service import Service
from memnet.stores import ItemStore

UNANSWERED = timedelta(minutes=30)
"""How long a turn's replay waits for its snapshot. A write arrives 15 minutes after its request at the latest."""
PAGE = 25
"""The longest page of replays: each is read, and each of its conflicts."""
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DueJob:
    """A job that is not finished, and its next attempt."""

    attempt: int
    due: datetime | None
    """None: now."""
    attempts_when_failed: int = 0
    """The attempts before its last failure; they do not count against it."""


async def find_due_job(job: Job, service: Service) -> DueJob | None:
    """Return the next attempt of a job; None if it is finished, has no retry scheduled, or is unknown.

    A new turn is due when its conversation has fallen silent. The worker of a reindexing reads its record itself.
    Raises HistoryCorrupt, Unavailable.
    """
    if job.kind is JobKind.REPLAY:
        stored = await service.records.read(replay_key(job.scope, job.job_id))
        replay = replays.load(stored.data) if stored else None
        if replay is None or replay.finished:
            return None
        return DueJob(replay.attempts, await _due(replay, service), replay.attempts_before_retry)
    if job.kind is JobKind.CONFLICT:
        stored = await service.records.read(conflict_key(job.scope, job.job_id))
        conflict = conflicts.load(stored.data) if stored else None
        if conflict is None or conflict.next_attempt_at is None:
            return None
        return DueJob(conflict.retry_number, from_text(conflict.next_attempt_at))
    if job.kind is JobKind.RETRACTION:
        stored = await service.records.read(retraction_key(job.scope, job.job_id))
        retraction = retractions.load(stored.data) if stored else None
        return None if retraction is None or not retraction.is_running else DueJob(retraction.attempts, None)
    return DueJob(0, None)


async def _due(replay: Replay, service: Service) -> datetime | None:
    due = None if replay.due_at is None else from_text(replay.due_at)
    if due is not None and due > service.clock.now():
        return due
    # Its profile may not be deployed here; then the worker decides.
    with suppress(ProfileNotFound):
        silence = await find_silence(replay, service)
        return due if silence is None else silence.at
    return due


async def send_job(job: Job, *, attempt: int, due: datetime | None, queue: MessageQueue) -> bool:
    """Send a marked job, and return whether the broker confirmed it. If not, the marker has it sent later."""
    try:
        await queue.send(job, attempt=attempt, due=due)
    except Unavailable:
        log.warning("a %s job could not be sent; its marker has it sent later", job.kind)
        return False
    return True


async def unmark_job(job: Job, service: Service) -> None:
    """Remove the marker of a finished job, and restore it if the job has become due since.

    Every writer that makes a job due marks it before it changes the record. Raises HistoryCorrupt, Unavailable;
    ErasureRunning: the marker cannot be restored because the user is being erased.
    """
    await service.marks.unmark(job)
    if await find_due_job(job, service) is not None:
        await service.marks.mark(job)


async def drop_unanswered(job: Job, service: Service) -> None:
    """Drop the replay of a turn without a snapshot: its request was never answered. Other replays stay unchanged.

    Raises:
        Unavailable: The same request may still complete the turn: the job is retried until UNANSWERED has passed.
        ReplayNotFound: The record and the marker of the job are deleted.
        HistoryCorrupt.
    """
    stored = await service.records.read(replay_key(job.scope, job.job_id))
    replay = replays.load(stored.data) if stored else None
    if stored is None or replay is None or not replay.is_turn:
        return
    if service.clock.now() - from_text(replay.created_at) < UNANSWERED:
        raise Unavailable(dependency="blob_storage")
    with suppress(StoreConflict):
        await service.records.delete(replay.key, tag=stored.storage_etag)
    await unmark_job(job, service)
    raise ReplayNotFound()


async def retry_replay(scope: UserScope, replay_id: str, service: Service) -> Replay:
    """Mark the job of a failed replay, queue the replay, and send the job; any other replay stays unchanged.

    If another replay has taken its turn, that one is retried first. Raises InvalidIdentifier, ReplayNotFound,
    HistoryCorrupt, ErasureRunning, Unavailable; SourceRetracted: what it rests on was taken back.
    """
    job = Job(JobKind.REPLAY, scope.tenant_id, scope.user_id, replay_id)

    async def requeue() -> tuple[Replay, bool]:
        stored = await service.records.read(replay_key(scope, replay_id))
        if stored is None:
            raise ReplayNotFound()
        replay = replays.load(stored.data)
        if replay.status is ReplayStatus.RETRACTED:
            raise SourceRetracted(retraction_id=replay.retracted_by)
        if replay.status is not ReplayStatus.FAILED:
            return replay, False
        if replay.covered_by is not None:
            # A worker finds out if it is gone, was taken back, or does not contain the turn.
            with suppress(ReplayNotFound, SourceRetracted):
                await retry_replay(scope, replay.covered_by, service)
        await service.marks.mark(job)
        replay = replay.requeue(service.clock.now())
        await service.records.write(replay.key, replays.dump(replay), replaces=stored.storage_etag)
        return replay, True

    replay, is_queued = await retry_conflicts(requeue)
    if is_queued and not await send_job(job, attempt=replay.attempts, due=None, queue=service.queue):
        await service.marks.mark(job)
    return replay


async def get_replay(scope: UserScope, replay_id: str, *, records: ItemStore) -> dict[str, Any]:
    """Return a replay with the results of its patches and the current status of its conflicts.

    Raises InvalidIdentifier, ReplayNotFound, HistoryCorrupt, Unavailable.
    """
    stored = await records.read(replay_key(scope, replay_id))
    if stored is None:
        raise ReplayNotFound()
    replay = replays.load(stored.data)
    patches = await bounded(partial(_with_conflict, scope, records), replay.patches)
    return {**replay.members(), "patches": patches}


async def _with_conflict(scope: UserScope, records: ItemStore, result: PatchResult) -> dict[str, Any]:
    members = result.members()
    stored = result.conflict_id and await records.read(conflict_key(scope, result.conflict_id))
    if not stored:
        return members
    conflict = conflicts.load(stored.data)
    members["conflict_status"] = conflict.status.value
    if conflict.change_id is not None:
        members["change_id"] = conflict.change_id
    return members


async def list_replays(
    scope: UserScope, *, limit: int, cursor: str | None, records: ItemStore, snapshot: ItemKey | None = None
) -> Page[dict[str, Any]]:
    """Return the replays as `get_replay` does, by id, which is not ordered by time; a page may be short.

    With `snapshot`, the key of a snapshot, return its replay alone, which needs one read.
    Raises InvalidCursor, HistoryCorrupt, Unavailable.
    """

    async def read(key: ItemKey) -> dict[str, Any] | None:
        try:
            return await get_replay(key.scope, key.name, records=records)
        except ReplayNotFound:
            return None

    if snapshot is None:
        page = await records.list(scope, ItemKind.REPLAYS, limit=min(limit, PAGE), cursor=cursor)
    else:
        page = Page([replay_key(scope, replay_id_of(snapshot))], None)
    found = await bounded(read, page.items)
    return Page([replay for replay in found if replay is not None], page.next_cursor)
