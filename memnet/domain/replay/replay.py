"""A replay: the way of one snapshot into the documents, as one small record that every step is written to.

What anyone may know of it stands open: the status and each patch's fate. What was said and proposed is `sealed`; its
plain form is `domain.replay_plan`. The functions return the record as a step leaves it and change nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import orjson

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import HistoryCorrupt, InvalidIdentifier
from memnet.domain.core.scope import Json, UserScope
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.replay.proposal import ALREADY_THERE
from memnet.domain.replay.snapshot import Snapshot


class ReplayStatus(StrEnum):
    """How far it is. PARTIAL: it is over, and some patch was rejected or is in conflict."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"


FINISHED = frozenset({ReplayStatus.SUCCEEDED, ReplayStatus.PARTIAL, ReplayStatus.FAILED})


PROMISED = timedelta(minutes=5)
"""99 % of replays are over within this time after their snapshot was accepted."""


class PatchStatus(StrEnum):
    """What became of one patch. REDIRECTED: some of it waits in the pending section for a confirmation."""

    APPLIED = "applied"
    REDIRECTED = "redirected"
    CONFLICT = "conflict"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchResult:
    """One patch that is decided; `number` counts from 1 in the order of the plan."""

    number: int
    binding_id: str
    namespace: str
    path: str
    status: PatchStatus
    change_id: str | None = None
    reason: str | None = None
    """An error code, or why there is nothing to change; without content."""
    conflict_id: str | None = None
    message_ids: Sequence[str] = ()
    confidence: float | None = None
    rebased: bool = False
    """Whether another writer came first, and the operations were adapted to the newer version."""
    supports: Sequence[str] = ()
    """Of what is there already: pointers to it."""
    etag: str | None = None
    """The version that `supports` points into."""

    @property
    def outcome(self) -> str:
        """Its fate in one word, as it is counted: the status, or of an applied patch how it came to be applied."""
        if self.status is PatchStatus.APPLIED and self.reason == ALREADY_THERE:
            return ALREADY_THERE
        return "rebased" if self.status is PatchStatus.APPLIED and self.rebased else self.status.value

    def members(self) -> dict[str, Any]:
        """What is known of it, by name."""
        known = {
            "number": self.number,
            "binding_id": self.binding_id,
            "namespace": self.namespace,
            "path": self.path,
            "status": self.status.value,
            "change_id": self.change_id,
            "reason": self.reason,
            "conflict_id": self.conflict_id,
            "message_ids": list(self.message_ids),
            "confidence": self.confidence,
            "rebased": self.rebased or None,
            "supports": list(self.supports) or None,
            "etag": self.etag,
        }
        return {name: value for name, value in known.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The record. Raises InvalidIdentifier for ids that cannot name one."""

    scope: UserScope
    replay_id: str
    conversation_id: str
    snapshot_id: str
    snapshot_uri: str
    profile_id: str
    status: ReplayStatus
    attempts: int
    """How often a worker has started on it."""
    begun_before: int = 0
    """How many of these were before it was last given up: they do not count against it."""
    created_at: str
    updated_at: str
    reason: str | None = None
    """Why it failed, or has no event: an error code and its message."""
    event_id: str | None = None
    extraction: Json = None
    """Who extracted, by which prompt (`Provenance.members`); None as long as there is no plan."""
    patches: Sequence[PatchResult] = ()
    sealed: Json = None
    """The plan, sealed under this record's key; None as long as there is none."""

    @property
    def key(self) -> ItemKey:
        """Where it is stored."""
        return replay_key(self.scope, self.replay_id)

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do, unless someone asks for a failed one again."""
        return self.status in FINISHED

    @property
    def duration(self) -> timedelta:
        """From the snapshot's acceptance to the newest change of the record, both as stored."""
        return from_text(self.updated_at) - from_text(self.created_at)

    @property
    def punctuality(self) -> str:
        """Whether a finished replay kept what is promised: "in_time", "late", or "failed"."""
        if self.status is ReplayStatus.FAILED:
            return "failed"
        return "in_time" if self.duration <= PROMISED else "late"

    def members(self) -> dict[str, Any]:
        """What the API tells of it."""
        return {
            "replay_id": self.replay_id,
            "status": self.status.value,
            "conversation_id": self.conversation_id,
            "snapshot_id": self.snapshot_id,
            "snapshot_uri": self.snapshot_uri,
            "profile_id": self.profile_id,
            "attempts": self.attempts,
            "reason": self.reason,
            "event_id": self.event_id,
            "extraction": self.extraction,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "patches": [fate.members() for fate in self.patches],
        }


def replay_key(scope: UserScope, replay_id: str) -> ItemKey:
    """Where a replay's record is stored. Raises InvalidIdentifier."""
    return ItemKey(scope, ItemKind.REPLAYS, replay_id)


def new_replay(snapshot: Snapshot, now: datetime) -> Replay:
    """The record of a snapshot that waits for its worker."""
    return Replay(
        scope=snapshot.scope,
        replay_id=snapshot.replay_id,
        conversation_id=snapshot.conversation_id,
        snapshot_id=snapshot.snapshot_id,
        snapshot_uri=snapshot.uri,
        profile_id=snapshot.profile_id,
        status=ReplayStatus.QUEUED,
        attempts=0,
        created_at=to_text(now),
        updated_at=to_text(now),
    )


def started(replay: Replay, now: datetime) -> Replay:
    """A worker begins, perhaps anew."""
    return replace(replay, status=ReplayStatus.RUNNING, attempts=replay.attempts + 1, updated_at=to_text(now))


def planned(
    replay: Replay,
    *,
    extraction: Json,
    event_id: str | None,
    settled: Sequence[PatchResult],
    sealed: Json,
    now: datetime,
) -> Replay:
    """It is settled what will be tried; from here on no model is asked again."""
    return replace(
        replay,
        extraction=extraction,
        event_id=event_id,
        patches=tuple(settled),
        sealed=sealed,
        updated_at=to_text(now),
    )


def prepared(replay: Replay, sealed: Json, now: datetime) -> Replay:
    """The plan has changed: what will be sent next is in it."""
    return replace(replay, sealed=sealed, updated_at=to_text(now))


def decided(replay: Replay, fate: PatchResult, now: datetime) -> Replay:
    """One more patch has its fate."""
    fates = sorted((*replay.patches, fate), key=lambda each: each.number)
    return replace(replay, patches=tuple(fates), updated_at=to_text(now))


def ended(replay: Replay, now: datetime, unwritten: str | None = None) -> Replay:
    """All patches have their fates. `unwritten`: why the event could not be written."""
    lacking = any(fate.status in (PatchStatus.CONFLICT, PatchStatus.REJECTED) for fate in replay.patches)
    status = ReplayStatus.PARTIAL if lacking or unwritten else ReplayStatus.SUCCEEDED
    event_id = None if unwritten else replay.event_id
    return replace(replay, status=status, reason=unwritten, event_id=event_id, updated_at=to_text(now))


def failed(replay: Replay, reason: str, now: datetime) -> Replay:
    """It is given up; what was applied stays applied."""
    return replace(replay, status=ReplayStatus.FAILED, reason=reason, updated_at=to_text(now))


def requeued(replay: Replay, now: datetime) -> Replay:
    """A failed one waits again, and will go on from where it stopped."""
    return replace(
        replay, status=ReplayStatus.QUEUED, reason=None, begun_before=replay.attempts, updated_at=to_text(now)
    )


def dump(replay: Replay) -> bytes:
    """Write the record."""
    whose = {"tenant_id": replay.scope.tenant_id, "user_id": replay.scope.user_id}
    return canonical({**whose, **replay.members(), "begun_before": replay.begun_before, "sealed": replay.sealed})


def load(data: bytes) -> Replay:
    """Read what `dump` wrote. Raises HistoryCorrupt for any other bytes."""
    try:
        members = orjson.loads(data)
        scope = UserScope(members.pop("tenant_id"), members.pop("user_id"))
        status = ReplayStatus(members.pop("status"))
        patches = tuple(_fate(row) for row in members.pop("patches"))
        return Replay(scope=scope, status=status, patches=patches, **members)
    except (ValueError, KeyError, TypeError, AttributeError, InvalidIdentifier) as error:
        raise HistoryCorrupt("The stored replay cannot be read.") from error


def _fate(row: dict[str, Any]) -> PatchResult:
    lists = {name: tuple(row.get(name, ())) for name in ("message_ids", "supports")}
    return PatchResult(**{**row, "status": PatchStatus(row["status"]), **lists})
