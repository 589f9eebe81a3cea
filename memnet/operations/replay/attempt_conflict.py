"""Try a conflict again: carry what was proposed over to the newest version, and send it."""

import logging
from dataclasses import replace

import orjson

from memnet.domain.core.access import Role
from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.errors import DecryptionFailed, Internal, MemnetError, Unavailable
from memnet.domain.core.job import Job
from memnet.domain.core.scope import Actor
from memnet.domain.core.timestamps import from_text
from memnet.domain.documents.commands import WriteResult
from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay.conflict import Conflict, ConflictStatus, Versions, resolved, sending, still_open
from memnet.domain.replay.proposal import ConflictDetails, Request, next_attempt
from memnet.operations.replay.read_conflict import HeldConflict, read_conflict
from memnet.operations.replay.rebase_proposal import rebase_proposal
from memnet.operations.replay.send_job import send_job
from memnet.operations.replay.try_proposal import Refused, Writing, try_proposal
from memnet.operations.replay.unmark_job import unmark_job
from memnet.ports import StoreConflict
from memnet.service import Service
from memnet.stores import KeyRing

LOOKS = 16
"""Each further look at the record follows a step that somebody else has made on it."""
PASSING = frozenset({ErrorCode.UNAVAILABLE, ErrorCode.VAULT_UNAVAILABLE, ErrorCode.ERASURE_RUNNING})
"""What says nothing of the conflict itself."""
log = logging.getLogger(__name__)


async def attempt_conflict(job: Job, service: Service, *, attempt: int | None) -> Conflict:
    """Try once more and return the conflict as it is then: resolved, or open with the newest reason and version.

    `attempt` is the number of the scheduled retry that the job came with; one whose turn is over does nothing. After
    one in vain the next is scheduled, until the conflict rests. None: somebody asked for it, and the schedule stays.
    Every request is written down before it is sent, so none is applied twice. Raises ConflictNotFound, HistoryCorrupt,
    ErasureRunning, VaultUnavailable, Unavailable: the same call again goes on.
    """
    actor = Actor(service.worker_principal, frozenset({Role.REPLAY}))
    writing = Writing(actor, service)
    for _ in range(LOOKS):
        held = await read_conflict(job.scope, job.job_id, vault=service.vault)
        try:
            conflict = await _go_on(held, attempt, writing)
        except StoreConflict:
            # Somebody else's step, or one of ours that was applied unseen: go on from what stands there.
            continue
        await _follow_up(conflict, attempt, service)
        return conflict
    raise Unavailable(dependency="blob_storage")


async def _follow_up(conflict: Conflict, attempt: int | None, service: Service) -> None:
    """Whatever is not done here, the mark has done later."""
    if conflict.next_attempt_at is None:
        try:
            await unmark_job(conflict.job, service)
        except Unavailable:
            return
    elif attempt is not None:
        due = from_text(conflict.next_attempt_at)
        if not await send_job(conflict.job, attempt=conflict.scheduled, due=due, queue=service.queue):
            await service.marks.mark(conflict.job)


async def _go_on(held: HeldConflict, attempt: int | None, writing: Writing) -> Conflict:
    """Raises StoreConflict when the record is no longer what it was."""
    conflict = held.conflict
    due = attempt is None or (attempt == conflict.scheduled and conflict.next_attempt_at is not None)
    if conflict.status is not ConflictStatus.OPEN or not due:
        return conflict
    try:
        if held.versions is None:
            raise DecryptionFailed()
        return await _try(held, held.versions, attempt, writing)
    except StoreConflict:
        raise
    except MemnetError as error:
        if error.code in PASSING:
            raise
        failure = error
    except Exception:
        # A defect of ours: counted like any other failure, so that the schedule ends and the conflict rests.
        log.exception("a conflict could not be tried")
        failure = Internal()
    # It cannot be tried as things are; the next retry, or who reads the reason, may find them changed.
    kept = still_open(conflict, Refused(failure).reason, writing.service.clock.now(), attempt=attempt)
    await _write(kept, held, writing)
    return kept


async def _try(held: HeldConflict, versions: Versions, attempt: int | None, writing: Writing) -> Conflict:
    if versions.request is not None:
        # Whether this one was applied is not known: nothing else may be sent before it is.
        earlier = await try_proposal(versions.proposal, versions.request, writing=writing)
        if isinstance(earlier, WriteResult):
            return await _record_applied(held, earlier, writing)
    step = await _carry(versions, held.conflict.rebases + 1, writing)
    if not isinstance(step, Request):
        return await _end(held, versions, step, attempt, writing)
    sent = sending(held.conflict, step, writing.service.clock.now())
    held = await _write(sent, held, writing, replace(versions, request=step))
    outcome = await try_proposal(versions.proposal, step, writing=writing)
    if isinstance(outcome, WriteResult):
        return await _record_applied(held, outcome, writing)
    reason = outcome.reason if isinstance(outcome, Refused) else outcome.code.value
    newest = await _carry(versions, step.number + 1, writing, most=step.number, lost=reason)
    assert not isinstance(newest, Request)
    return await _end(held, versions, newest, attempt, writing)


async def _carry(
    versions: Versions, number: int, writing: Writing, *, most: int | None = None, lost: str = ""
) -> Request | ConflictDetails | None:
    carried = await rebase_proposal(versions.proposal, writing.service)
    return next_attempt(carried, number, most=most, lost=lost)


async def _end(
    held: HeldConflict, versions: Versions, step: ConflictDetails | None, attempt: int | None, writing: Writing
) -> Conflict:
    """Nothing is under way any more: what is proposed stands there already, or cannot be applied."""
    if step is None:
        conflict = resolved(held.conflict, None, writing.service.clock.now())
        return (await _write(conflict, held, writing)).conflict
    conflict = still_open(held.conflict, step.reason, writing.service.clock.now(), attempt=attempt)
    return (await _write(conflict, held, writing, replace(versions, dispute=step, request=None))).conflict


async def _record_applied(held: HeldConflict, result: WriteResult, writing: Writing) -> Conflict:
    """It is in the document, whatever has been written of the conflict meanwhile: also when somebody discarded it."""
    for _ in range(LOOKS):
        if held.conflict.status is ConflictStatus.RESOLVED:
            return held.conflict
        conflict = resolved(
            held.conflict, result.change_id, writing.service.clock.now(), redirected=bool(result.redirected)
        )
        try:
            return (await _write(conflict, held, writing)).conflict
        except StoreConflict:
            held = await read_conflict(conflict.scope, conflict.conflict_id, vault=writing.service.vault)
    raise Unavailable(dependency="blob_storage")


async def _write(
    conflict: Conflict, held: HeldConflict, writing: Writing, versions: Versions | None = None
) -> HeldConflict:
    if versions is not None:
        sealed = await KeyRing(writing.service.vault).seal(conflict.key, versions.dump())
        conflict = replace(conflict, sealed=orjson.loads(sealed))
    tag = await writing.service.records.write(conflict.key, conflicts.dump(conflict), replaces=held.tag)
    return HeldConflict(conflict, versions or held.versions, tag)
