"""Bring one snapshot into the documents: from the job to audited patches, exactly once in effect."""

from dataclasses import dataclass, replace
from typing import Any

import orjson

from memnet.domain.core.access import Role
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import EventExists, MemnetError, ReplayNotFound, Unavailable
from memnet.domain.core.job import Job
from memnet.domain.core.scope import Actor, StorageETag
from memnet.domain.documents.rebase import Rebased
from memnet.domain.events.event import Event
from memnet.domain.replay import replay as replays
from memnet.domain.replay import replay_plan
from memnet.domain.replay.conflict import conflict_id
from memnet.domain.replay.proposal import ALREADY_THERE, ConflictDetails, Proposal, RebaseResult, next_attempt
from memnet.domain.replay.replay import PatchResult, PatchStatus, Replay, ReplayStatus, replay_key
from memnet.domain.replay.replay_plan import PlannedPatch, ReplayPlan
from memnet.operations.events.write_event import write_event
from memnet.operations.replay.create_conflict import create_conflict
from memnet.operations.replay.plan_replay import plan_replay
from memnet.operations.replay.rebase_proposal import rebase_proposal
from memnet.operations.replay.try_proposal import REFUSALS, Raced, Refused, Writing, try_proposal
from memnet.operations.replay.unmark_job import unmark_job
from memnet.ports import (
    StoreConflict,
)
from memnet.service import Service
from memnet.stores import KeyRing

MOST_REBASES = 1
"""A race lost after that many rebases is a conflict."""
LOOKS = 64
"""Each further look at the record follows a step that somebody else has made on it."""


@dataclass(frozen=True, slots=True)
class _Held:
    """The record as it stands, as far as we know: every write of it proves that."""

    replay: Replay
    plan: ReplayPlan
    tag: StorageETag


async def replay_snapshot(job: Job, service: Service) -> Replay:
    """Do what is left of the replay and return its record; one that is finished is returned as it is.

    Extraction is settled by one conditional write before anything is applied. From then on every request is written
    down before it is sent, so that after a crash, or beside another worker, the very same ones are sent again under
    the same keys. Raises ReplayNotFound, and what fails the replay for good: SnapshotNotFound, DecryptionFailed,
    ProfileNotFound, ProfileForbidden, HistoryCorrupt; and VaultUnavailable, Unavailable: the same call
    later goes on.
    """
    actor = Actor(service.worker_principal, frozenset({Role.REPLAY}))
    writing = Writing(actor, service)
    for look in range(LOOKS):
        try:
            replay = await _go_on(job, writing, anew=look == 0)
        except StoreConflict:
            # Another worker's step, or one of ours that was applied unseen: go on from what stands there.
            continue
        await unmark_job(job, service)
        return replay
    raise Unavailable(dependency="blob_storage")


async def _go_on(job: Job, writing: Writing, *, anew: bool) -> Replay:
    """Raises StoreConflict when the record is no longer what it was."""
    stored = await writing.service.records.read(replay_key(job.scope, job.job_id))
    if stored is None:
        raise ReplayNotFound()
    replay, tag = replays.load(stored.data), stored.storage_etag
    if replay.finished:
        return replay
    if anew or replay.status is ReplayStatus.QUEUED:
        replay = replays.started(replay, writing.service.clock.now())
        tag = await _write(replay, tag, writing)
    held = await _plan(replay, tag, writing)
    for patch in held.plan.patches:
        if patch.dispute is not None:
            await _open_conflict(patch, patch.dispute, writing)
    unwritten = await _write_event(held, writing)
    decided = {fate.number for fate in held.replay.patches}
    for patch in held.plan.patches:
        if patch.proposal.number not in decided:
            held = await _settle(held, patch.proposal.number, writing)
    replay = replays.ended(held.replay, writing.service.clock.now(), unwritten)
    await _write(replay, held.tag, writing)
    return replay


async def _plan(replay: Replay, tag: StorageETag, writing: Writing) -> _Held:
    """The plan, which the first one to come to it makes."""
    if replay.sealed is not None:
        opened = await KeyRing(writing.service.vault).unseal(replay.key, canonical(replay.sealed))
        return _Held(replay, replay_plan.load(replay.scope, opened), tag)
    made = await plan_replay(
        replay,
        writing.service,
        actor=writing.actor,
    )
    planned = replays.planned(
        replay,
        extraction=made.extraction,
        event_id=made.plan.event and made.plan.event["event_id"],
        settled=made.settled,
        sealed=await _sealed(replay, made.plan, writing),
        now=writing.service.clock.now(),
    )
    return _Held(planned, made.plan, await _write(planned, tag, writing))


async def _write_event(held: _Held, writing: Writing) -> str | None:
    """Return why there is no event, if another one stands under its id: the patches are good without it."""
    if held.plan.event is None:
        return None
    try:
        await write_event(
            held.replay.scope,
            Event.model_validate(held.plan.event),
            writing.service,
        )
    except EventExists as error:
        return Refused(error).reason
    return None


async def _settle(held: _Held, number: int, writing: Writing) -> _Held:
    """Bring one patch to its fate."""
    while True:
        patch, lost = held.plan.patch(number), ""
        if patch.request is not None:
            outcome = await try_proposal(patch.proposal, patch.request, writing=writing)
            if isinstance(outcome, Refused):
                return await _decide(held, patch.fate(PatchStatus.REJECTED, reason=outcome.reason), writing)
            if not isinstance(outcome, Raced):
                status = PatchStatus.REDIRECTED if outcome.redirected else PatchStatus.APPLIED
                return await _decide(held, patch.fate(status, change_id=outcome.change_id), writing)
            lost = outcome.code.value
        carried = await _carry(patch.proposal, writing)
        if isinstance(carried, Refused):
            return await _decide(held, patch.fate(PatchStatus.REJECTED, reason=carried.reason), writing)
        following = 0 if patch.request is None else patch.request.number + 1
        step = next_attempt(carried, following, most=MOST_REBASES, lost=lost)
        if step is None:
            assert isinstance(carried.rebased, Rebased)
            known = {"reason": ALREADY_THERE, "supports": carried.rebased.supports, "etag": carried.etag}
            return await _decide(held, patch.fate(PatchStatus.APPLIED, **known), writing)
        if isinstance(step, ConflictDetails):
            return await _dispute(held, patch, step, writing)
        held = await _change_plan(held, number, writing, request=step)


async def _carry(proposal: Proposal, writing: Writing) -> RebaseResult | Refused:
    try:
        return await rebase_proposal(proposal, writing.service)
    except MemnetError as error:
        if error.code not in REFUSALS:
            raise
        return Refused(error)


async def _decide(held: _Held, fate: PatchResult, writing: Writing) -> _Held:
    replay = replays.decided(held.replay, fate, writing.service.clock.now())
    return replace(held, replay=replay, tag=await _write(replay, held.tag, writing))


async def _dispute(held: _Held, patch: PlannedPatch, dispute: ConflictDetails, writing: Writing) -> _Held:
    """Decided first, with all that is needed to open the conflict: so it is opened once and by nobody else applied."""
    fate = patch.fate(PatchStatus.CONFLICT, reason=dispute.reason, conflict_id=conflict_id(patch.proposal))
    replay = replays.decided(held.replay, fate, writing.service.clock.now())
    held = await _change_plan(replace(held, replay=replay), patch.proposal.number, writing, dispute=dispute)
    await _open_conflict(patch, dispute, writing)
    return held


async def _open_conflict(patch: PlannedPatch, dispute: ConflictDetails, writing: Writing) -> None:
    await create_conflict(patch.proposal, dispute, writing.service, rebases=MOST_REBASES)


async def _change_plan(held: _Held, number: int, writing: Writing, **changes: Any) -> _Held:
    """Write down what is about to be done, before it is."""
    plan = held.plan.changed(number, **changes)
    replay = replays.prepared(held.replay, await _sealed(held.replay, plan, writing), writing.service.clock.now())
    return _Held(replay, plan, await _write(replay, held.tag, writing))


async def _sealed(replay: Replay, plan: ReplayPlan, writing: Writing) -> Any:
    return orjson.loads(await KeyRing(writing.service.vault).seal(replay.key, plan.dump()))


async def _write(replay: Replay, tag: StorageETag, writing: Writing) -> StorageETag:
    return await writing.service.records.write(replay.key, replays.dump(replay), replaces=tag)
