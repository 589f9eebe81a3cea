"""A conflict: a proposed patch that met a document which somebody else has changed, kept until it is decided.

What anyone may know of it stands open. The three versions of it (base, ours, theirs) are sealed: what was proposed has
passed no gate yet.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import orjson

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import DecryptionFailed, HistoryCorrupt, InvalidIdentifier
from memnet.domain.core.evidence import EvidenceMembers
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import Json, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.replay.proposal import ConflictDetails, Proposal, Request, load_proposal

BACKOFF = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=12),
)
"""How long after the one before each scheduled retry comes; after the last one the conflict rests."""
MAX_DECISIONS = 32
"""The newest requests of people that are kept."""


class ConflictStatus(StrEnum):
    """What became of it. RESOLVED: what was proposed is in the document, or waits there for a confirmation."""

    OPEN = "open"
    RESOLVED = "resolved"
    DISCARDED = "discarded"


class Asked(StrEnum):
    """What somebody asked for."""

    RETRY = "retry"
    DISCARD = "discard"


@dataclass(frozen=True, slots=True)
class Decision:
    """Who asked for what, and when."""

    asked: Asked
    by: str
    at: str
    note: str | None = None

    def members(self) -> dict[str, Any]:
        """What is known of it, by name."""
        named = {"asked": self.asked.value, "by": self.by, "at": self.at, "note": self.note}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """The record. Raises InvalidIdentifier for ids that cannot name one."""

    scope: UserScope
    conflict_id: str
    replay_id: str
    number: int
    """The patch's number in the replay."""
    profile_id: str
    binding_id: str
    namespace: str
    path: str
    status: ConflictStatus
    reason: str
    """Why it is not resolved, or was not when it was tried last; without content."""
    attempts: int
    """How often it was tried since it was opened."""
    scheduled: int
    """Which of the scheduled retries is the next, from 1."""
    next_attempt_at: str | None
    """When that is due; None: it rests, or is closed."""
    confidence: float
    evidence: EvidenceMembers
    idempotency_key: str
    """The key of the first request; the ones after it are "<key>#rebase-<n>"."""
    rebases: int
    """The n of the newest request."""
    change_id: str | None = None
    """The change that resolved it; None although RESOLVED if somebody else had written the same."""
    redirected: bool = False
    """Whether some of that waits in the pending section."""
    created_at: str
    updated_at: str
    decisions: Sequence[Decision] = ()
    sealed: Json = None

    @property
    def key(self) -> ItemKey:
        """Where it is stored."""
        return conflict_key(self.scope, self.conflict_id)

    @property
    def job(self) -> Job:
        """The job of its retries."""
        return Job(JobKind.CONFLICT, self.scope.tenant_id, self.scope.user_id, self.conflict_id)

    def members(self) -> dict[str, Any]:
        """What the API tells of it, but for the three versions."""
        return {
            "conflict_id": self.conflict_id,
            "replay_id": self.replay_id,
            "number": self.number,
            "profile_id": self.profile_id,
            "binding_id": self.binding_id,
            "namespace": self.namespace,
            "path": self.path,
            "status": self.status.value,
            "reason": self.reason,
            "attempts": self.attempts,
            "scheduled": self.scheduled,
            "next_attempt_at": self.next_attempt_at,
            "confidence": self.confidence,
            "evidence": self.evidence,
            "idempotency_key": self.idempotency_key,
            "rebases": self.rebases,
            "change_id": self.change_id,
            "redirected": self.redirected,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "decisions": [decision.members() for decision in self.decisions],
        }


@dataclass(frozen=True, slots=True)
class Versions:
    """The plain form of the sealed part."""

    proposal: Proposal
    dispute: ConflictDetails
    request: Request | None = None
    """A request that may be under way; None if it is known what became of the last one."""

    def dump(self) -> bytes:
        """Write it."""
        proposal = {**self.proposal.members(), "base": self.proposal.base}
        request = None if self.request is None else self.request.members()
        return canonical({"proposal": proposal, "dispute": self.dispute.members(), "request": request})

    def members(self) -> dict[str, Any]:
        """What the API tells of it."""
        return {
            "base": {"etag": self.proposal.base_etag, "content": self.proposal.base},
            "ours": {"ops": list(self.proposal.ops)},
            "theirs": {"etag": self.dispute.etag, "content": self.dispute.content},
            "place": self.dispute.place,
        }


def conflict_key(scope: UserScope, conflict_id: str) -> ItemKey:
    """Where a conflict's record is stored. Raises InvalidIdentifier."""
    return ItemKey(scope, ItemKind.CONFLICTS, conflict_id)


def conflict_id(proposal: Proposal) -> str:
    """The id of the one conflict that a patch can come into."""
    return f"cfl-{proposal.idempotency_key}"


def new_conflict(proposal: Proposal, dispute: ConflictDetails, rebases: int, now: datetime) -> Conflict:
    """The record of a conflict that will be tried again soon; its sealed part is still to be put in."""
    return Conflict(
        scope=proposal.key.scope,
        conflict_id=conflict_id(proposal),
        replay_id=proposal.replay_id,
        number=proposal.number,
        profile_id=proposal.profile_id,
        binding_id=proposal.binding_id,
        namespace=proposal.key.namespace,
        path=proposal.key.path,
        status=ConflictStatus.OPEN,
        reason=dispute.reason,
        attempts=0,
        scheduled=1,
        next_attempt_at=to_text(now + BACKOFF[0]),
        confidence=proposal.confidence,
        evidence=proposal.evidence,
        idempotency_key=proposal.idempotency_key,
        rebases=rebases,
        created_at=to_text(now),
        updated_at=to_text(now),
    )


def sending(conflict: Conflict, request: Request, now: datetime) -> Conflict:
    """A request is about to be sent."""
    return replace(conflict, rebases=request.number, updated_at=to_text(now))


def resolved(conflict: Conflict, change_id: str | None, now: datetime, *, redirected: bool = False) -> Conflict:
    """What was proposed is in the document."""
    return replace(
        conflict,
        status=ConflictStatus.RESOLVED,
        attempts=conflict.attempts + 1,
        next_attempt_at=None,
        change_id=change_id,
        redirected=redirected,
        updated_at=to_text(now),
    )


def still_open(conflict: Conflict, reason: str, now: datetime, *, attempt: int | None) -> Conflict:
    """It was tried in vain; `attempt` is the number of the scheduled retry that this was, None if it was none."""
    kept = replace(conflict, reason=reason, attempts=conflict.attempts + 1, updated_at=to_text(now))
    if attempt is None or attempt != conflict.scheduled:
        return kept
    left = BACKOFF[attempt:]
    following = to_text(now + left[0]) if left else None
    return replace(kept, scheduled=attempt + 1, next_attempt_at=following)


def asked_for(conflict: Conflict, decision: Decision) -> Conflict:
    """Somebody asked for something."""
    return replace(conflict, decisions=(*conflict.decisions, decision)[-MAX_DECISIONS:], updated_at=decision.at)


def discarded(conflict: Conflict, decision: Decision) -> Conflict:
    """Somebody decided that what stands in the document stays."""
    return replace(asked_for(conflict, decision), status=ConflictStatus.DISCARDED, next_attempt_at=None)


def dump(conflict: Conflict) -> bytes:
    """Write the record."""
    whose = {"tenant_id": conflict.scope.tenant_id, "user_id": conflict.scope.user_id}
    return canonical({**whose, **conflict.members(), "sealed": conflict.sealed})


def load(data: bytes) -> Conflict:
    """Read what `dump` wrote. Raises HistoryCorrupt for any other bytes."""
    try:
        members = orjson.loads(data)
        scope = UserScope(members.pop("tenant_id"), members.pop("user_id"))
        status = ConflictStatus(members.pop("status"))
        decisions = tuple(Decision(**{**row, "asked": Asked(row["asked"])}) for row in members.pop("decisions"))
        return Conflict(scope=scope, status=status, decisions=decisions, **members)
    except (ValueError, KeyError, TypeError, AttributeError, InvalidIdentifier) as error:
        raise HistoryCorrupt("The stored conflict cannot be read.") from error


def load_versions(scope: UserScope, data: bytes) -> Versions:
    """Read what `Versions.dump` wrote. Raises DecryptionFailed."""
    try:
        members = orjson.loads(data)
        base = members["proposal"].pop("base")
        request = members["request"]
        return Versions(
            load_proposal(scope, members["proposal"], base),
            ConflictDetails(**members["dispute"]),
            None if request is None else Request(**request),
        )
    except (ValueError, KeyError, TypeError, AttributeError, InvalidIdentifier) as error:
        raise DecryptionFailed() from error
