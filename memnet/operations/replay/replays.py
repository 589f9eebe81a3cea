"""Replay a snapshot: from its job to audited patches, applied exactly once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from memnet.domain.core.errors import (
    EventExists,
    MemnetError,
    ReplayNotFound,
    SnapshotNotFound,
)
from memnet.domain.core.job import Job
from memnet.domain.core.metric import EXTRACTIONS
from memnet.domain.core.scope import Json, StorageETag
from memnet.domain.documents.rebase import Rebased
from memnet.domain.events.event import Event
from memnet.domain.governance.waiting import WaitingKind
from memnet.domain.governance.withdrawn import ClosedSources, Withdrawal
from memnet.domain.replay import replay as replays
from memnet.domain.replay import replay_plan
from memnet.domain.replay.conflict import conflict_id
from memnet.domain.replay.proposal import (
    ConflictDetails,
    next_attempt,
)
from memnet.domain.replay.replay import PatchResult, PatchStatus, Replay, ReplayStatus, replay_key
from memnet.domain.replay.replay_plan import PlannedPatch, ReplayPlan
from memnet.operations.events.write_event import write_event
from memnet.operations.replay.closed_sources import read_closed_sources
from memnet.operations.replay.extraction import plan_replay
from memnet.operations.replay.jobs import drop_unanswered, unmark_job
from memnet.operations.replay.proposals import (
    REJECTIONS,
    LostRace,
    Rejected,
    create_conflict,
    rebase_proposal,
    try_proposal,
    worker,
)
from memnet.operations.replay.resume_retraction import resume_retraction
from memnet.operations.replay.taking import end_one, end_taken, find_untaken
from memnet.operations.replay.turn_usage import count_usage
from memnet.operations.replay.waiting_turns import waits
from memnet.paging import retry_conflicts
from memnet.ports import StoreConflict
from memnet.service import Service
from memnet.stores import KeyRing

MAX_REBASES = 1
"""A race that is lost after so many rebases is a conflict."""
MAX_ROUNDS = 64
"""The reads of the record by one call. Each further one follows a write by another worker."""


@dataclass(frozen=True, slots=True)
class _LoadedReplay:
    """The record and its plan as read; every write of the record is conditional on `tag`."""

    replay: Replay
    plan: ReplayPlan
    tag: StorageETag


async def replay_snapshot(job: Job, service: Service) -> Replay:
    """Do the remaining work of a replay and return its record; a finished one is returned unchanged.

    A replay of a turn takes all turns of its conversation that no replay has taken. It stays queued while the
    conversation is not silent or the day's budget is spent; one whose turn is taken ends as its taker does. One of a
    closed source ends as retracted: the source is looked up when it is started, and again after a model has extracted.

    One conditional write stores the plan before anything is applied. Each request is stored before it is sent. So after
    a crash, or with two workers, the same requests are sent again under the same keys.

    Raises:
        ReplayNotFound: There is none, or it was dropped: the request of its turn was never answered.
        SnapshotNotFound, DecryptionFailed, ProfileNotFound, ProfileForbidden, HistoryCorrupt: It cannot succeed.
        VaultUnavailable, Unavailable: The same call later continues.
    """
    is_first = True

    async def step() -> Replay:
        nonlocal is_first
        starts, is_first = is_first, False
        return await _continue(job, service, starts=starts)

    try:
        replay = await retry_conflicts(step, attempts=MAX_ROUNDS)
    except SnapshotNotFound:
        ended = await _read_retracted(job, service)
        if ended is None:
            await drop_unanswered(job, service)
            raise
        replay = ended
    if replay.finished:
        await end_taken(replay, service)
        if replay.retracted_by is not None and replay.planned_at is not None:
            # A patch that was on its way when the retraction closed the replay can have arrived since.
            await resume_retraction(job.scope, replay.retracted_by, service)
        await unmark_job(job, service)
    return replay


async def _read_retracted(job: Job, service: Service) -> Replay | None:
    """Return the replay if a retraction has closed it, which it does before it deletes the snapshot."""
    stored = await service.records.read(replay_key(job.scope, job.job_id))
    replay = replays.load(stored.data) if stored else None
    return replay if replay is not None and replay.status is ReplayStatus.RETRACTED else None


async def fail_replay(job: Job, reason: str, service: Service) -> Replay | None:
    """Record that the replay failed and why (a code, without content), remove its marker, and return the record.

    The replays whose turns it has taken fail, too. Applied patches stay applied, and a retry continues. A finished
    replay stays unchanged; None if there is none. Raises HistoryCorrupt, Unavailable.
    """

    async def fail() -> Replay | None:
        stored = await service.records.read(replay_key(job.scope, job.job_id))
        replay = replays.load(stored.data) if stored else None
        if stored is None or replay is None or replay.finished:
            return replay
        await service.waiting.mark(job.scope, WaitingKind.FAILED_REPLAY, job.job_id)
        replay = replay.fail(reason, service.clock.now())
        await service.records.write(replay.key, replays.dump(replay), replaces=stored.storage_etag)
        return replay

    replay = await retry_conflicts(fail)
    if replay is not None:
        await end_taken(replay, service)
    await unmark_job(job, service)
    return replay


async def _continue(job: Job, service: Service, *, starts: bool) -> Replay:
    """Raises StoreConflict after a write by another worker, or an own write that was applied unseen."""
    stored = await service.records.read(replay_key(job.scope, job.job_id))
    if stored is None:
        raise ReplayNotFound()
    replay, tag = replays.load(stored.data), stored.storage_etag
    if replay.finished:
        return replay
    if replay.covered_by is not None:
        return await _follow(replay, replay.covered_by, service)
    if starts or replay.status is ReplayStatus.QUEUED:
        started = await _start(replay, tag, service)
        if started is None:
            return replay
        replay, tag = started
    closed = await read_closed_sources(job.scope, service.records)
    withdrawal = closed.find(replay)
    if withdrawal is not None:
        return await _retract(replay, tag, withdrawal, service)
    loaded = await _plan(replay, tag, service)
    if loaded.replay is not replay:
        # A source that was closed while a model extracted, or the model itself.
        closed = await read_closed_sources(job.scope, service.records)
        withdrawal = closed.find(loaded.replay)
        if withdrawal is not None:
            return await _retract(loaded.replay, loaded.tag, withdrawal, service)
    return await _apply(await _strip(loaded, closed, service), service)


async def _retract(replay: Replay, tag: StorageETag, withdrawal: Withdrawal, service: Service) -> Replay:
    """End a replay that a retraction did not find, and have the retraction find what arrived since it was applied."""
    await resume_retraction(replay.scope, withdrawal.retraction_id, service)
    replay = replay.retract(withdrawal.retraction_id, service.clock.now())
    await _write(replay, tag, service)
    return replay


async def _strip(loaded: _LoadedReplay, closed: ClosedSources, service: Service) -> _LoadedReplay:
    """Take from the plan what cites a closed source; at the end of the replay its retraction looks for it again."""
    replay, plan = closed.strip(loaded.replay, loaded.plan, service.clock.now())
    if replay is loaded.replay:
        return loaded
    replay = replace(replay, sealed=await _sealed(replay, plan, service))
    return _LoadedReplay(replay, plan, await _write(replay, loaded.tag, service))


async def _apply(loaded: _LoadedReplay, service: Service) -> Replay:
    """Write what the plan contains and is not written yet, and finish the record."""
    for patch in loaded.plan.patches:
        if patch.conflict is not None:
            await create_conflict(patch.proposal, patch.conflict, service, rebases=MAX_REBASES)
    if loaded.replay.is_turn:
        await count_usage(loaded.replay, loaded.plan.said, service)
    unwritten = await _write_event(loaded, service)
    decided = {result.index for result in loaded.replay.patches}
    for patch in loaded.plan.patches:
        if patch.proposal.index not in decided:
            loaded = await _decide_patch(loaded, patch.proposal.index, service)
    replay = loaded.replay.finish(service.clock.now(), unwritten)
    await _write(replay, loaded.tag, service)
    return replay


async def _start(replay: Replay, tag: StorageETag, service: Service) -> tuple[Replay, StorageETag] | None:
    """Count an attempt, with the turns that the replay may take; return None if a turn is replayed later."""
    covers: Sequence[str] = ()
    if replay.is_turn and replay.sealed is None:
        if await waits(replay, tag, service):
            return None
        covers = await find_untaken(replay, service)
    replay = replay.start(service.clock.now(), covers)
    return replay, await _write(replay, tag, service)


async def _follow(replay: Replay, taker_id: str, service: Service) -> Replay:
    """Continue the replay that has taken the turn, and return this one as it ends with it."""
    try:
        taker = await replay_snapshot(replace(replay.job, job_id=taker_id), service)
    except ReplayNotFound:
        taker = None
    if taker is not None and not taker.finished:
        return replay
    ended = await end_one(replay.job, taker_id, taker, service)
    if ended is None:
        raise ReplayNotFound()
    if not ended.finished:
        raise StoreConflict
    return ended


async def _plan(replay: Replay, tag: StorageETag, service: Service) -> _LoadedReplay:
    """Return the stored plan, or make it."""
    if replay.sealed is not None:
        plaintext = await KeyRing(service.vault).unseal_member(replay.key, replay.sealed)
        return _LoadedReplay(replay, replay_plan.load(replay.scope, plaintext), tag)
    made = await plan_replay(replay, service, actor=worker(service))
    replay = replay.with_plan(
        await _sealed(replay, made.plan, service),
        service.clock.now(),
        extraction=made.extraction,
        event_id=made.plan.event and made.plan.event["event_id"],
        settled=made.settled,
        covers=made.covers,
        skipped=made.skipped,
        model_tokens=made.model_tokens,
    )
    tag = await _write(replay, tag, service)
    service.telemetry.record(EXTRACTIONS, 1, outcome=made.outcome)
    return _LoadedReplay(replay, made.plan, tag)


async def _write_event(loaded: _LoadedReplay, service: Service) -> str | None:
    """Return why the event was not written: another one has its id. The patches are applied without it."""
    if loaded.plan.event is None:
        return None
    try:
        await write_event(loaded.replay.scope, Event.model_validate(loaded.plan.event), service)
    except EventExists as error:
        return Rejected(error).reason
    return None


async def _decide_patch(loaded: _LoadedReplay, index: int, service: Service) -> _LoadedReplay:
    """Apply one patch, or store why it cannot be applied."""
    while True:
        patch, lost = loaded.plan.patches[index - 1], ""
        if patch.request is not None:
            outcome = await try_proposal(patch.proposal, patch.request, service)
            if isinstance(outcome, Rejected):
                return await _decide(loaded, patch.result(PatchStatus.REJECTED, reason=outcome.reason), service)
            if not isinstance(outcome, LostRace):
                status = PatchStatus.REDIRECTED if outcome.has_proposed else PatchStatus.APPLIED
                applied = {"change_id": outcome.change_id, "settled": outcome.settled}
                return await _decide(loaded, patch.result(status, **applied), service)
            lost = outcome.code.value
        try:
            found = await rebase_proposal(patch.proposal, service)
        except MemnetError as error:
            if error.code not in REJECTIONS:
                raise
            return await _decide(loaded, patch.result(PatchStatus.REJECTED, reason=Rejected(error).reason), service)
        number = 0 if patch.request is None else patch.request.number + 1
        step = next_attempt(found, number, max_rebases=MAX_REBASES, lost=lost)
        if step is None:
            assert isinstance(found.rebased, Rebased)
            known = {"supports": found.rebased.supports, "etag": found.etag}
            return await _decide(loaded, patch.result(PatchStatus.UNCHANGED, **known), service)
        if isinstance(step, ConflictDetails):
            return await _decide_conflict(loaded, patch, step, service)
        loaded = await _change_plan(loaded, index, service, request=step)


async def _decide(loaded: _LoadedReplay, result: PatchResult, service: Service) -> _LoadedReplay:
    replay = loaded.replay.decide(result, service.clock.now())
    return replace(loaded, replay=replay, tag=await _write(replay, loaded.tag, service))


async def _decide_conflict(
    loaded: _LoadedReplay, patch: PlannedPatch, details: ConflictDetails, service: Service
) -> _LoadedReplay:
    """Store the result with all that creating the conflict needs, then create it: no other worker applies the patch."""
    result = patch.result(PatchStatus.CONFLICT, reason=details.reason, conflict_id=conflict_id(patch.proposal))
    decided = replace(loaded, replay=loaded.replay.decide(result, service.clock.now()))
    loaded = await _change_plan(decided, patch.proposal.index, service, conflict=details)
    await create_conflict(patch.proposal, details, service, rebases=MAX_REBASES)
    return loaded


async def _change_plan(loaded: _LoadedReplay, index: int, service: Service, **changes: Any) -> _LoadedReplay:
    """Store the next step before it is taken."""
    plan = loaded.plan.change(index, **changes)
    sealed = await _sealed(loaded.replay, plan, service)
    replay = loaded.replay.with_changed_plan(sealed, service.clock.now())
    return _LoadedReplay(replay, plan, await _write(replay, loaded.tag, service))


async def _sealed(replay: Replay, plan: ReplayPlan, service: Service) -> Json:
    return await KeyRing(service.vault).seal_member(replay.key, plan.dump())


async def _write(replay: Replay, tag: StorageETag, service: Service) -> StorageETag:
    return await service.records.write(replay.key, replays.dump(replay), replaces=tag)
