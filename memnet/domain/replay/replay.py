"""A replay: extracting memory from a snapshot. Its record is written at every step; the plan in it is sealed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import orjson

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.claimant import claimant_digest
from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.errors import HistoryCorrupt
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.json_types import members_of
from memnet.domain.core.scope import Json, UserScope
from memnet.domain.core.stored_form import Reading
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.documents.commands import Settled
from memnet.domain.replay.snapshot import Snapshot


class ReplayStatus(StrEnum):
    """The progress of a replay.

    PARTIAL: finished, with a rejected or conflicting patch. RETRACTED: finished, because a retraction took back what it
    rests on.
    """

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    RETRACTED = "retracted"


FINISHED = frozenset({ReplayStatus.SUCCEEDED, ReplayStatus.PARTIAL, ReplayStatus.FAILED, ReplayStatus.RETRACTED})
PROMISED = timedelta(minutes=5)
"""The objective: 99 % of replays finish within this time after their snapshot was accepted."""


class PatchStatus(StrEnum):
    """The result of a patch.

    UNCHANGED: the document has equal content. REDIRECTED: some of it is in the pending section, for confirmation.
    """

    APPLIED = "applied"
    UNCHANGED = "unchanged"
    REDIRECTED = "redirected"
    CONFLICT = "conflict"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchResult:
    """The result of one patch; `index` counts from 1 in the order of the plan."""

    index: int
    binding_id: str
    namespace: str
    path: str
    status: PatchStatus
    change_id: str | None = None
    reason: str | None = None
    """An error code, or why it conflicts; without content."""
    conflict_id: str | None = None
    message_ids: Sequence[str] = ()
    snapshot_uri: str | None = None
    """The snapshot of these messages, if it is not the replay's own."""
    confidence: float | None = None
    rebased: bool = False
    """Whether the operations were adapted to a newer version by another writer."""
    supports: Sequence[str] = ()
    """Pointers to the equal content in the document, if the patch changed nothing."""
    etag: str | None = None
    """The version that `supports` points into."""
    settled: Sequence[Settled] = ()
    """The verdicts on the statements in it."""

    @property
    def outcome(self) -> str:
        """The result in one word, for metrics: the status, or how an applied patch was applied."""
        return "rebased" if self.status is PatchStatus.APPLIED and self.rebased else self.status.value

    def members(self) -> dict[str, Any]:
        """Return the known members by name."""
        lists = {
            "message_ids": list(self.message_ids),
            "supports": list(self.supports) or None,
            "settled": list(self.settled) or None,
        }
        known = members_of(self) | lists | {"rebased": self.rebased or None}
        return {name: value for name, value in known.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The record of a replay. Its methods return the record after a step. Raises InvalidIdentifier."""

    scope: UserScope
    replay_id: str
    conversation_id: str
    snapshot_id: str
    snapshot_uri: str
    service_id: str
    """The principal that submitted the conversation."""
    profile_id: str
    claimant_digest: str | None = None
    """The digest of the code of the turn's claimant, to compare it. The code itself is sealed in the snapshot; no
    response has either."""
    is_turn: bool = False
    """Whether the snapshot is one turn of the conversation."""
    status: ReplayStatus
    attempts: int
    attempts_before_retry: int = 0
    """The attempts before its last failure or wait; they do not count against it."""
    created_at: str
    updated_at: str
    reason: str | None = None
    """Why it failed, or has no event: an error code and its message."""
    event_id: str | None = None
    due_at: str | None = None
    """When it is started at the earliest; None: at once."""
    covers: Sequence[str] = ()
    """The replays of the other turns that this one takes."""
    covered_by: str | None = None
    """The replay that takes this one's turn. This one ends as that one does."""
    skipped: Json = None
    """The gate that kept it from extracting, and why (`turn_gates.Skipped`)."""
    planned_at: str | None = None
    model_tokens: int | None = None
    """The tokens of the model calls of its plan; None: no model was asked."""
    extraction: Json = None
    """The extractor and its prompt (`Provenance.members`); None until there is a plan."""
    patches: Sequence[PatchResult] = ()
    retracted_by: str | None = None
    """The retraction that took back what it rests on, or a part of it."""
    sealed: Json = None
    """The plan, sealed under this record's key; None until there is one."""

    @property
    def key(self) -> ItemKey:
        """The key of its record."""
        return replay_key(self.scope, self.replay_id)

    @property
    def job(self) -> Job:
        """The job that does it."""
        return Job(JobKind.REPLAY, self.scope.tenant_id, self.scope.user_id, self.replay_id)

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do, unless somebody retries a failed one."""
        return self.status in FINISHED

    @property
    def duration(self) -> timedelta:
        """The time from the snapshot's acceptance, or from when it was due, to the newest change of the record."""
        return from_text(self.updated_at) - from_text(max(self.created_at, self.due_at or ""))

    @property
    def punctuality(self) -> str:
        """Whether a finished replay met the objective: "in_time", "late" or "failed"."""
        if self.status is ReplayStatus.FAILED:
            return "failed"
        return "in_time" if self.duration <= PROMISED else "late"

    def members(self) -> dict[str, Any]:
        """Return the members of the API's response."""
        members = members_of(self, "scope", "attempts_before_retry", "sealed", "claimant_digest")
        return {**members, "covers": list(self.covers), "patches": [result.members() for result in self.patches]}

    @property
    def may_be_covered(self) -> bool:
        """Whether another replay may take its turn: it has not started since it was queued, and may take none.

        A worker names the turns that a replay may take when it starts it, so two replays never cover each other.
        """
        is_idle = self.status is ReplayStatus.QUEUED and self.sealed is None
        return self.is_turn and is_idle and not self.covers and self.covered_by is None

    def is_of_conversation(self, other: "Replay") -> bool:
        """Whether one can take the turn of the other: of one conversation, profile and service, and one claimant."""
        mine = (self.scope, self.conversation_id, self.profile_id, self.service_id, self.claimant_digest)
        others = (other.scope, other.conversation_id, other.profile_id, other.service_id, other.claimant_digest)
        return mine == others

    def cover(self, covered_by: str, now: datetime) -> "Replay":
        """Give its turn to another replay."""
        return self._changed(now, covered_by=covered_by)

    def release(self, now: datetime) -> "Replay":
        """Queue it again as its own: the replay that covers it does not contain its turn."""
        return self._changed(now, status=ReplayStatus.QUEUED, reason=None, covered_by=None)

    def wait(self, until: datetime, now: datetime) -> "Replay":
        """Queue it for later. Its attempts do not count against it; one is added, so that its message has a new id."""
        waited = {"attempts": self.attempts + 1, "attempts_before_retry": self.attempts + 1}
        return self._changed(now, status=ReplayStatus.QUEUED, due_at=to_text(until), **waited)

    def end_as(self, other: "Replay", now: datetime) -> "Replay":
        """End it as the replay that has taken its turn has ended."""
        return self._changed(now, status=other.status, reason=other.reason, skipped=other.skipped)

    def start(self, now: datetime, covers: Sequence[str] = ()) -> "Replay":
        """Count an attempt of a worker, which takes the turns of the replays `covers`."""
        return self._changed(
            now,
            status=ReplayStatus.RUNNING,
            attempts=self.attempts + 1,
            covers=tuple(dict.fromkeys((*self.covers, *covers))),
        )

    def with_plan(
        self,
        sealed: Json,
        now: datetime,
        *,
        extraction: Json,
        event_id: str | None,
        settled: Sequence[PatchResult],
        covers: Sequence[str] = (),
        skipped: Json = None,
        model_tokens: int | None = None,
    ) -> "Replay":
        """Add the plan; from now on no model is called. `settled`: the results that are known already."""
        return self._changed(
            now,
            sealed=sealed,
            extraction=extraction,
            event_id=event_id,
            patches=tuple(map(self._own, settled)),
            covers=tuple(covers),
            skipped=skipped,
            planned_at=to_text(now),
            model_tokens=model_tokens,
        )

    def with_changed_plan(self, sealed: Json, now: datetime) -> "Replay":
        """Replace the plan, which holds the next request."""
        return self._changed(now, sealed=sealed)

    def decide(self, result: PatchResult, now: datetime) -> "Replay":
        """Add the result of a patch."""
        return self._changed(now, patches=tuple(sorted((*self.patches, self._own(result)), key=lambda one: one.index)))

    def finish(self, now: datetime, unwritten: str | None = None) -> "Replay":
        """Finish it; all patches have results. `unwritten`: why the event could not be written."""
        lacking = any(one.status in (PatchStatus.CONFLICT, PatchStatus.REJECTED) for one in self.patches)
        status = ReplayStatus.PARTIAL if lacking or unwritten else ReplayStatus.SUCCEEDED
        return self._changed(now, status=status, reason=unwritten, event_id=None if unwritten else self.event_id)

    def fail(self, reason: str, now: datetime) -> "Replay":
        """Give it up; applied patches stay applied."""
        return self._changed(now, status=ReplayStatus.FAILED, reason=reason)

    def retract(self, retraction_id: str, now: datetime) -> "Replay":
        """End it without its plan: a retraction took back what it rests on."""
        ended = {"status": ReplayStatus.RETRACTED, "reason": ErrorCode.SOURCE_RETRACTED.value, "sealed": None}
        return self._changed(now, **ended, retracted_by=retraction_id, due_at=None)

    def lose(self, retraction_id: str, now: datetime) -> "Replay":
        """Note that a retraction took a part of its plan; it continues with the rest."""
        return self._changed(now, retracted_by=retraction_id)

    def requeue(self, now: datetime) -> "Replay":
        """Queue a failed one again; it continues where it stopped."""
        return self._changed(
            now, status=ReplayStatus.QUEUED, reason=None, due_at=None, attempts_before_retry=self.attempts
        )

    def _own(self, result: PatchResult) -> PatchResult:
        """Return the result without the snapshot of its messages if that is the replay's own."""
        return replace(result, snapshot_uri=None) if result.snapshot_uri == self.snapshot_uri else result

    def _changed(self, now: datetime, **changes: Any) -> "Replay":
        return replace(self, updated_at=to_text(now), **changes)


def replay_key(scope: UserScope, replay_id: str) -> ItemKey:
    """Return the key of a replay's record. Raises InvalidIdentifier."""
    return ItemKey(scope, ItemKind.REPLAYS, replay_id)


def new_replay(snapshot: Snapshot, now: datetime, *, due: datetime | None = None) -> Replay:
    """Return the record of a snapshot that is queued for a worker, at once or for later."""
    return Replay(
        scope=snapshot.scope,
        replay_id=snapshot.replay_id,
        conversation_id=snapshot.conversation_id,
        snapshot_id=snapshot.snapshot_id,
        snapshot_uri=snapshot.uri,
        service_id=snapshot.service_id,
        profile_id=snapshot.profile_id,
        claimant_digest=None if snapshot.claimed_by is None else claimant_digest(snapshot.claimed_by),
        is_turn=snapshot.is_turn,
        status=ReplayStatus.QUEUED,
        attempts=0,
        due_at=None if due is None else to_text(due),
        created_at=to_text(now),
        updated_at=to_text(now),
    )


def dump(replay: Replay) -> bytes:
    """Return the stored form."""
    owner = {"tenant_id": replay.scope.tenant_id, "user_id": replay.scope.user_id}
    private = {name: getattr(replay, name) for name in ("attempts_before_retry", "sealed", "claimant_digest")}
    return canonical({**owner, **replay.members(), **private})


def load(data: bytes) -> Replay:
    """Read the stored form. Raises HistoryCorrupt."""
    with Reading(HistoryCorrupt("The stored replay cannot be read.")):
        members = orjson.loads(data)
        scope = UserScope(members.pop("tenant_id"), members.pop("user_id"))
        status = ReplayStatus(members.pop("status"))
        patches = tuple(_result(row) for row in members.pop("patches"))
        covers = tuple(members.pop("covers"))
        return Replay(scope=scope, status=status, patches=patches, covers=covers, **members)


def _result(row: dict[str, Any]) -> PatchResult:
    lists = {name: tuple(row.get(name, ())) for name in ("message_ids", "supports", "settled")}
    return PatchResult(**{**row, "status": PatchStatus(row["status"]), **lists})
