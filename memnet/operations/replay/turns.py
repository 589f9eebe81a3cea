"""Store turns: one look at the fence, then one wave of writes; the jobs are sent after the answer."""

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.turn_rules import TurnRules
from memnet.domain.core.errors import (
    ClaimantNotAccepted,
    LimitExceeded,
    ReplayNotFound,
    SnapshotExists,
    TurnsNotAccepted,
    Unavailable,
)
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import Actor, StorageETag, UserScope
from memnet.domain.core.user_item import ItemKey
from memnet.domain.replay import replay as replays
from memnet.domain.replay import snapshot as snapshots
from memnet.domain.replay.replay import Replay, ReplayStatus, new_replay
from memnet.domain.replay.snapshot import Snapshot
from memnet.domain.replay.turn import Turn, Turns, take_turn, taken_again
from memnet.domain.sealing.sealing import DataKey
from memnet.operations.documents.claimants import find_codes
from memnet.operations.replay.closed_sources import check_open, read_closed_sources
from memnet.operations.replay.jobs import retry_replay, send_job, unmark_job
from memnet.operations.replay.snapshots import is_done, renew_snapshot
from memnet.operations.replay.waiting_for_replays import wait_for_replays
from memnet.paging import bounded, retry_conflicts
from memnet.ports import StoreConflict
from memnet.service import Service
from memnet.stores import FenceCheck, KeyRing


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """The result of storing one turn."""

    turn_id: str
    snapshot_uri: str
    replay_id: str
    queued: bool
    """Whether the replay waits for a worker or runs: its job is stored, whether or not the broker has it yet."""
    replay: dict[str, Any] | None = None
    """The replay as `get_replay` returns it, if the request waited and it could be read."""

    def members(self) -> dict[str, Any]:
        """Return the members of the response."""
        found = {"turn_id": self.turn_id, "snapshot_uri": self.snapshot_uri, "replay_id": self.replay_id}
        return {**found, "queued": self.queued} | ({} if self.replay is None else {"replay": self.replay})


@dataclass(frozen=True, slots=True)
class StoredTurns:
    """The result of storing the turns of a request, in their order."""

    turns: Sequence[StoredTurn]
    replayed: bool
    """Whether all of them were stored before."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What storing one turn has led to."""

    snapshot: Snapshot
    job: Job
    replay: Replay | None
    """None: another turn has the id."""
    created: bool

    @property
    def is_queued(self) -> bool:
        return self.replay is not None and not is_done(self.replay)


async def store_turns(
    scope: UserScope,
    conversation_id: str,
    body: Turns,
    service: Service,
    *,
    actor: Actor,
    wait_seconds: int | None = None,
    draining: asyncio.Event | None = None,
) -> StoredTurns:
    """Store each turn as a sealed snapshot with its replay, and have the jobs sent after the answer.

    The fence is checked once. Then the marker of the job, the snapshot and the record of the replay, and the mark for
    the index if the profile's turns are searchable, are created side by side. All are durable when this returns. After
    a crash the same request completes the work. The same turn again sends an unfinished replay again, retries a failed
    one and leaves a finished one unchanged. `wait_seconds` waits for the replays to end, until `draining` is set.

    Raises:
        TurnsNotAccepted: The profile has no rules for turns.
        ClaimantNotAccepted: The profile has no statements with claimants.
        ClaimantNotFound: A claimant has no memory; nothing is stored.
        LimitExceeded, QuotaExceeded: The user's turns of a minute are used up; nothing is stored.
        SnapshotExists: Another turn or conversation has the id of a turn. The other turns are stored.
        SourceRetracted: The conversation, a turn or a message of it was taken back; nothing is stored.
        ProfileNotFound, ProfileForbidden, InvalidIdentifier, DecryptionFailed, HistoryCorrupt, ErasureRunning,
        VaultUnavailable, Unavailable.
    """
    profile = service.catalog.permitted(body.profile_id, actor)
    rules = profile.turns
    if rules is None:
        raise TurnsNotAccepted(param="/profile_id")
    await _count(scope, body, rules, service)
    now = service.clock.now()
    codes = await _codes(scope, body, profile, service)
    taken = [
        take_turn(turn, scope, conversation_id, actor.principal, profile, now=now, claimed_by=code)
        for turn, code in zip(body.turns, codes, strict=True)
    ]
    ring = KeyRing(service.vault)
    checked, known_key, closed = await asyncio.gather(
        service.records.check_to_write(scope), ring.find_current(scope), read_closed_sources(scope, service.records)
    )
    check_open(closed, taken, now)
    data_key = known_key or await ring.get_or_create(scope, checked=checked)
    due = now + timedelta(seconds=rules.quiet_seconds) if rules.quiet_seconds else None
    wave = _Wave(service, checked, data_key, rules.searchable, now, due)
    outcomes = await bounded(wave.store, list(zip(body.turns, taken, strict=True)))
    service.background.start("send turns", _send([one for one in outcomes if one.is_queued], due, service))
    _refuse_others(outcomes)
    turns = [_stored(one) for one in outcomes]
    if wait_seconds is not None:
        ended = await wait_for_replays(scope, [one.replay_id for one in turns], wait_seconds, service, draining)
        turns = [replace(one, replay=ended.get(one.replay_id)) for one in turns]
    return StoredTurns(turns, replayed=not any(one.created for one in outcomes))


async def _codes(scope: UserScope, body: Turns, profile: Profile, service: Service) -> list[str | None]:
    """Return the code of each turn's claimant. Raises ClaimantNotAccepted, ClaimantNotFound."""
    named = {f"/turns/{at}/claimant": one for at, turn in enumerate(body.turns) if (one := turn.claimant) is not None}
    if not named:
        return [None] * len(body.turns)
    if not any(profile.takes_claimants(binding.binding_id) for binding in profile.document_bindings):
        raise ClaimantNotAccepted(param=next(iter(named)))
    codes = await find_codes(scope, named, service.vault)
    return [None if turn.claimant is None else codes[turn.claimant.user_id] for turn in body.turns]


async def _count(scope: UserScope, body: Turns, rules: TurnRules, service: Service) -> None:
    allowed = rules.gates.max_per_minute
    if allowed is None:
        return
    if len(body.turns) > allowed:
        message = f"The profile accepts {allowed} turns of a user in a minute; send fewer in one request."
        raise LimitExceeded(message, param="/turns", limit="max_per_minute", allowed=allowed, found=len(body.turns))
    await service.quota.take_turns(scope, body.profile_id, len(body.turns), per_minute=allowed)


@dataclass(frozen=True, slots=True)
class _Wave:
    """Stores the turns of one request, which rely on one check of the fence and one data key."""

    service: Service
    checked: FenceCheck
    data_key: DataKey
    searchable: bool
    now: datetime
    due: datetime | None
    """When the jobs are due; None: at once."""

    async def store(self, pair: tuple[Turn, Snapshot]) -> _Outcome:
        """Create the blobs of a turn side by side, and look at what exists only if one did."""
        turn, snapshot = pair
        service = self.service
        sealed = KeyRing(service.vault).seal_with(self.data_key, snapshot.key, snapshot.dump())
        replay = new_replay(snapshot, self.now, due=self.due)
        job = Job(JobKind.REPLAY, snapshot.scope.tenant_id, snapshot.scope.user_id, replay.replay_id)
        created, tag, *_ = await asyncio.gather(
            self._create(snapshot.key, sealed),
            self._create(replay.key, replays.dump(replay)),
            *self._marks(job, snapshot),
        )
        first = snapshot if created else await self._read(snapshot, sealed)
        if first.dump() != taken_again(turn, snapshot, first).dump():
            await self._return(first, job, tag)
            return _Outcome(snapshot, job, None, created=False)
        if tag is None:
            replay = await self._continue(snapshot, job)
        return _Outcome(snapshot, job, replay, created=first is snapshot)

    def _marks(self, job: Job, snapshot: Snapshot) -> Sequence[Awaitable[None]]:
        marks = [self.service.marks.mark(job, checked=self.checked)]
        if self.searchable:
            marks.append(self.service.turn_marks.mark(snapshot.key, checked=self.checked))
        return marks

    async def _create(self, key: ItemKey, data: bytes) -> StorageETag | None:
        """Create an item and return its tag; None if it exists."""
        try:
            return await self.service.records.write(key, data, replaces=None, checked=self.checked)
        except StoreConflict:
            return None

    async def _read(self, snapshot: Snapshot, sealed: bytes) -> Snapshot:
        """Return the stored snapshot; this one if it was stored by this request after all."""
        stored = await self.service.records.read(snapshot.key)
        if stored is None:
            raise Unavailable(dependency="blob_storage")
        if stored.data == sealed:
            return snapshot
        return snapshots.load(snapshot.scope, await KeyRing(self.service.vault).unseal(snapshot.key, stored.data))

    async def _return(self, first: Snapshot, job: Job, tag: StorageETag | None) -> None:
        """Give the replay to the snapshot that has the id, if this request has created the record or its marker."""
        if tag is not None:
            replay = new_replay(first, self.now)
            with suppress(StoreConflict):
                await self.service.records.write(replay.key, replays.dump(replay), replaces=tag)
        await unmark_job(job, self.service)

    async def _continue(self, snapshot: Snapshot, job: Job) -> Replay:
        """Return the replay of a turn that was stored before; a failed one is queued again."""
        service = self.service
        try:
            replay = await retry_replay(snapshot.scope, snapshot.replay_id, service)
        except ReplayNotFound:
            raise Unavailable(dependency="blob_storage") from None
        if is_done(replay):
            # No worker would remove the marker.
            await service.marks.unmark(job)
        else:
            await retry_conflicts(partial(renew_snapshot, snapshot, service.vault))
        return replay


async def _send(outcomes: Sequence[_Outcome], due: datetime | None, service: Service) -> None:
    """Send the jobs in order. After a failure the markers have the others sent."""
    for one in outcomes:
        assert one.replay is not None
        # Only a new turn waits for silence: a retried one has waited.
        at = due if one.replay.status is ReplayStatus.QUEUED and not one.replay.attempts else None
        if not await send_job(one.job, attempt=one.replay.attempts, due=at, queue=service.queue):
            return


def _refuse_others(outcomes: Sequence[_Outcome]) -> None:
    """Raise SnapshotExists if another turn has the id of one of these, with those that are stored."""
    others = [one.snapshot.snapshot_id for one in outcomes if one.replay is None]
    if others:
        raise SnapshotExists(
            "A turn_id is already used by a different turn or snapshot of the conversation. Choose a new one.",
            hint="The turns in details.stored are stored: sending them again changes nothing.",
            turn_ids=others,
            stored=[_stored(one).members() for one in outcomes if one.replay is not None],
        )


def _stored(one: _Outcome) -> StoredTurn:
    snapshot = one.snapshot
    return StoredTurn(snapshot.snapshot_id, snapshot.uri, snapshot.replay_id, one.is_queued)
