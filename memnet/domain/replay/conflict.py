"""A conflict: a proposed patch that met another writer's change. The status is plain, the versions are sealed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import orjson

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import DecryptionFailed, HistoryCorrupt
from memnet.domain.core.evidence import EvidenceMembers
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.json_types import known_members, members_of
from memnet.domain.core.scope import Json, UserScope
from memnet.domain.core.stored_form import Reading
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
"""The delay before each scheduled retry. After the last one none is scheduled."""
MAX_DECISIONS = 32
"""The number of decisions that are kept; older ones are dropped."""


class ConflictStatus(StrEnum):
    """The state of a conflict. RESOLVED: the proposal is in the document, or pending there for confirmation."""

    OPEN = "open"
    RESOLVED = "resolved"
    DISCARDED = "discarded"


class Asked(StrEnum):
    """The request of a decision."""

    RETRY = "retry"
    DISCARD = "discard"


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's request to retry or discard a conflict."""

    asked: Asked
    by: str
    at: str
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """The record of a conflict. Its methods return the record after a step. Raises InvalidIdentifier."""

    scope: UserScope
    conflict_id: str
    replay_id: str
    patch_index: int
    profile_id: str
    binding_id: str
    namespace: str
    path: str
    status: ConflictStatus
    reason: str
    """Why the last attempt failed; without content."""
    attempts: int
    """The attempts since it was created."""
    retry_number: int
    """The number of the next scheduled retry, from 1."""
    next_attempt_at: str | None
    """When it is due; None: none is scheduled."""
    confidence: float
    evidence: EvidenceMembers
    idempotency_key: str
    """The key of the first request; the others are "<key>#rebase-<n>"."""
    rebases: int
    change_id: str | None = None
    """The change that resolved it; None although RESOLVED if another writer wrote the same."""
    redirected: bool = False
    """Whether some of that is in the pending section."""
    created_at: str
    updated_at: str
    decisions: Sequence[Decision] = ()
    sealed: Json = None

    @property
    def key(self) -> ItemKey:
        """The key of its record."""
        return conflict_key(self.scope, self.conflict_id)

    @property
    def job(self) -> Job:
        """The job of its retries."""
        return Job(JobKind.CONFLICT, self.scope.tenant_id, self.scope.user_id, self.conflict_id)

    def members(self) -> dict[str, Any]:
        """Return the members of the API's response, without the three versions."""
        return {**members_of(self, "scope", "sealed"), "decisions": list(map(known_members, self.decisions))}

    def send(self, request: Request, now: datetime) -> "Conflict":
        """Count a request that is about to be sent."""
        return replace(self, rebases=request.number, updated_at=to_text(now))

    def resolve(self, change_id: str | None, now: datetime, *, redirected: bool = False) -> "Conflict":
        """Close it: the proposal is in the document."""
        return replace(
            self,
            status=ConflictStatus.RESOLVED,
            attempts=self.attempts + 1,
            next_attempt_at=None,
            change_id=change_id,
            redirected=redirected,
            updated_at=to_text(now),
        )

    def keep_open(self, reason: str, now: datetime, *, attempt: int | None) -> "Conflict":
        """Count a failed attempt. `attempt`: the number of the scheduled retry; None if it was not scheduled."""
        kept = replace(self, reason=reason, attempts=self.attempts + 1, updated_at=to_text(now))
        if attempt is None or attempt != self.retry_number:
            return kept
        left = BACKOFF[attempt:]
        following = to_text(now + left[0]) if left else None
        return replace(kept, retry_number=attempt + 1, next_attempt_at=following)

    def note(self, decision: Decision) -> "Conflict":
        """Add a person's request."""
        return replace(self, decisions=(*self.decisions, decision)[-MAX_DECISIONS:], updated_at=decision.at)

    def discard(self, decision: Decision) -> "Conflict":
        """Close it: the document keeps its value."""
        return replace(self.note(decision), status=ConflictStatus.DISCARDED, next_attempt_at=None)


@dataclass(frozen=True, slots=True)
class Versions:
    """The plain form of the sealed part."""

    proposal: Proposal
    details: ConflictDetails
    request: Request | None = None

    def dump(self) -> bytes:
        """Return the plaintext to be sealed."""
        proposal = {**self.proposal.members(), "base": self.proposal.base}
        request = self.request and members_of(self.request)
        return canonical({"proposal": proposal, "details": members_of(self.details), "request": request})

    def members(self) -> dict[str, Any]:
        """Return the members of the API's response."""
        return {
            "base": {"etag": self.proposal.base_etag, "content": self.proposal.base},
            "ours": {"ops": list(self.proposal.ops)},
            "theirs": {"etag": self.details.etag, "content": self.details.content},
            "diverged_at": self.details.diverged_at,
        }


def conflict_key(scope: UserScope, conflict_id: str) -> ItemKey:
    """Return the key of a conflict's record. Raises InvalidIdentifier."""
    return ItemKey(scope, ItemKind.CONFLICTS, conflict_id)


def conflict_id(proposal: Proposal) -> str:
    """Return the id of the one conflict that a proposal can have."""
    return f"cfl-{proposal.idempotency_key}"


def new_conflict(proposal: Proposal, details: ConflictDetails, rebases: int, now: datetime) -> Conflict:
    """Return the record of a new conflict, scheduled for its first retry, without its sealed part."""
    return Conflict(
        scope=proposal.key.scope,
        conflict_id=conflict_id(proposal),
        replay_id=proposal.replay_id,
        patch_index=proposal.index,
        profile_id=proposal.profile_id,
        binding_id=proposal.binding_id,
        namespace=proposal.key.namespace,
        path=proposal.key.path,
        status=ConflictStatus.OPEN,
        reason=details.reason,
        attempts=0,
        retry_number=1,
        next_attempt_at=to_text(now + BACKOFF[0]),
        confidence=proposal.confidence,
        evidence=proposal.evidence,
        idempotency_key=proposal.idempotency_key,
        rebases=rebases,
        created_at=to_text(now),
        updated_at=to_text(now),
    )


def dump(conflict: Conflict) -> bytes:
    """Return the stored form."""
    owner = {"tenant_id": conflict.scope.tenant_id, "user_id": conflict.scope.user_id}
    return canonical({**owner, **conflict.members(), "sealed": conflict.sealed})


def load(data: bytes) -> Conflict:
    """Read the stored form. Raises HistoryCorrupt."""
    with Reading(HistoryCorrupt("The stored conflict cannot be read.")):
        members = orjson.loads(data)
        scope = UserScope(members.pop("tenant_id"), members.pop("user_id"))
        status = ConflictStatus(members.pop("status"))
        decisions = tuple(Decision(**{**row, "asked": Asked(row["asked"])}) for row in members.pop("decisions"))
        return Conflict(scope=scope, status=status, decisions=decisions, **members)


def load_versions(scope: UserScope, data: bytes) -> Versions:
    """Read what `Versions.dump` wrote. Raises DecryptionFailed."""
    with Reading(DecryptionFailed()):
        members = orjson.loads(data)
        base = members["proposal"].pop("base")
        request = members["request"]
        return Versions(
            load_proposal(scope, members["proposal"], base),
            ConflictDetails(**members["details"]),
            None if request is None else Request(**request),
        )
