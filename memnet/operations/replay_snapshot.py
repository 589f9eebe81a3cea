"""Bring one snapshot into the documents: from the job to audited patches, exactly once in effect."""

from dataclasses import dataclass, replace
from typing import Any

import orjson

from memnet.domain import replay as replays
from memnet.domain import replay_plan
from memnet.domain.access import Role
from memnet.domain.conflict import conflict_id
from memnet.domain.document import Actor, StorageETag
from memnet.domain.errors import EventExists, MemnetError, ReplayNotFound, Unavailable
from memnet.domain.event import Event
from memnet.domain.job import Job
from memnet.domain.json_text import canonical
from memnet.domain.proposal import ALREADY_THERE, Carried, Dispute, Proposal, carry_on
from memnet.domain.rebase import Translated
from memnet.domain.replay import PatchFate, PatchStatus, Replay, ReplayStatus, replay_key
from memnet.domain.replay_plan import Plan, PlannedPatch
from memnet.operations.key_ring import KeyRing
from memnet.operations.open_conflict import open_conflict
from memnet.operations.plan_replay import plan_replay
from memnet.operations.rebase_proposal import rebase_proposal
from memnet.operations.try_proposal import REFUSALS, Raced, Refused, Writing, try_proposal
from memnet.operations.unmark_job import unmark_job
from memnet.operations.write_event import write_event
from memnet.ports import (
    StoreConflict,
)
from memnet.service import Service

MOST_REBASES = 1
"""A race lost after that many rebases is a conflict."""
LOOKS = 64
"""Each further look at the record follows a step that somebody else has made on it."""


@dataclass(frozen=True, slots=True)
class _Held:
    """The record as it stands, as far as we know: every write of it proves that."""

    replay: Replay
    plan: Plan
    tag: StorageETag


async def replay_snapshot(job: Job, service: Service) -> Replay:
    """Do what is left of the replay and return its record; one that is finished is returned as it is.

    Extraction is settled by one conditional write before anything is applied. From then on every request is written
    down before it is sent, so that after a crash, or beside another worker, the very same ones are sent again under
    the same keys. Raises ReplayNotFound, and what fails the replay for good: SnapshotNotFound, SealBroken,
    ProfileNotFound, ProfileForbidden, HistoryBroken; and VaultUnavailable, Unavailable: the same call
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
        step = carry_on(carried, following, most=MOST_REBASES, lost=lost)
        if step is None:
            assert isinstance(carried.rebased, Translated)
            known = {"reason": ALREADY_THERE, "supports": carried.rebased.supports, "etag": carried.etag}
            return await _decide(held, patch.fate(PatchStatus.APPLIED, **known), writing)
        if isinstance(step, Dispute):
            return await _dispute(held, patch, step, writing)
        held = await _change_plan(held, number, writing, request=step)


async def _carry(proposal: Proposal, writing: Writing) -> Carried | Refused:
    try:
        return await rebase_proposal(proposal, writing.service)
    except MemnetError as error:
        if error.code not in REFUSALS:
            raise
        return Refused(error)


async def _decide(held: _Held, fate: PatchFate, writing: Writing) -> _Held:
    replay = replays.decided(held.replay, fate, writing.service.clock.now())
    return replace(held, replay=replay, tag=await _write(replay, held.tag, writing))


async def _dispute(held: _Held, patch: PlannedPatch, dispute: Dispute, writing: Writing) -> _Held:
    """Decided first, with all that is needed to open the conflict: so it is opened once and by nobody else applied."""
    fate = patch.fate(PatchStatus.CONFLICT, reason=dispute.reason, conflict_id=conflict_id(patch.proposal))
    replay = replays.decided(held.replay, fate, writing.service.clock.now())
    held = await _change_plan(replace(held, replay=replay), patch.proposal.number, writing, dispute=dispute)
    await _open_conflict(patch, dispute, writing)
    return held


async def _open_conflict(patch: PlannedPatch, dispute: Dispute, writing: Writing) -> None:
    await open_conflict(patch.proposal, dispute, writing.service, rebases=MOST_REBASES)


async def _change_plan(held: _Held, number: int, writing: Writing, **changes: Any) -> _Held:
    """Write down what is about to be done, before it is."""
    plan = held.plan.changed(number, **changes)
    replay = replays.prepared(held.replay, await _sealed(held.replay, plan, writing), writing.service.clock.now())
    return _Held(replay, plan, await _write(replay, held.tag, writing))


async def _sealed(replay: Replay, plan: Plan, writing: Writing) -> Any:
    return orjson.loads(await KeyRing(writing.service.vault).seal(replay.key, plan.dump()))


async def _write(replay: Replay, tag: StorageETag, writing: Writing) -> StorageETag:
    return await writing.service.records.write(replay.key, replays.dump(replay), replaces=tag)
