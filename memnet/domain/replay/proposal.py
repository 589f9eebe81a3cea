"""A patch as a replay proposes it, and the requests that are made of it.

Each request is written down before it is sent: whoever goes on after a crash sends the very same one under the same
Idempotency-Key, so it is applied once, however often it is sent. A request for another version of the document is
another one, under its own key of the same lineage.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memnet.domain.core.access import Reason
from memnet.domain.core.evidence import EvidenceMembers
from memnet.domain.core.json_patch import Op
from memnet.domain.core.scope import Actor, DocumentKey, ETag, Json, UserScope
from memnet.domain.documents.commands import IfAbsent, IfMatch, PatchDocument
from memnet.domain.documents.rebase import RebaseConflict, RebaseOutcome

ALREADY_THERE = "already_there"
"""The reason of a patch that changed nothing, because somebody else has written the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What is proposed, on what, by what evidence; `base_etag` None: on the initial content of a document not there."""

    replay_id: str
    number: int
    """Its place in the replay's plan, from 1."""
    profile_id: str
    binding_id: str
    key: DocumentKey
    base_etag: ETag | None
    base: Json
    ops: Sequence[Op]
    confidence: float
    evidence: EvidenceMembers
    on_behalf_of: str
    """The principal that handed in the conversation."""
    source_time: str | None = None

    @property
    def idempotency_key(self) -> str:
        """The key of the first request; those of the rebased ones begin with it."""
        return f"{self.replay_id}-{self.number}"

    @property
    def message_ids(self) -> Sequence[str]:
        """The messages that speak for it."""
        found: Sequence[str] = self.evidence.get("message_ids", ())
        return found

    def members(self) -> dict[str, Any]:
        """Everything but whose it is and the base's content."""
        return {
            "replay_id": self.replay_id,
            "number": self.number,
            "profile_id": self.profile_id,
            "binding_id": self.binding_id,
            "namespace": self.key.namespace,
            "path": self.key.path,
            "base_etag": self.base_etag,
            "ops": list(self.ops),
            "confidence": self.confidence,
            "evidence": self.evidence,
            "on_behalf_of": self.on_behalf_of,
            "source_time": self.source_time,
        }


@dataclass(frozen=True, slots=True)
class Request:
    """One request: the operations for one version. Number 0 is the first one, n the n-th rebase."""

    number: int
    etag: ETag | None
    """None: the document must not exist."""
    ops: Sequence[Op]

    def idempotency_key(self, proposal: Proposal) -> str:
        """Its key, whose lineage `domain.audit.lineage` reads."""
        return f"{proposal.idempotency_key}#rebase-{self.number}" if self.number else proposal.idempotency_key

    def members(self) -> dict[str, Any]:
        """All of it, by name."""
        return {"number": self.number, "etag": self.etag, "ops": list(self.ops)}


@dataclass(frozen=True, slots=True)
class RebaseResult:
    """A proposal carried over to the version of its document that is the newest."""

    etag: ETag | None
    content: Json
    rebased: RebaseOutcome


@dataclass(frozen=True, slots=True)
class ConflictDetails:
    """Why a proposal cannot be applied without a decision, and the version that it met."""

    reason: str
    """A code, without content."""
    etag: ETag | None
    content: Json
    place: Json = None
    """Where the versions part (`Changed.members`); None if they do not, and only the race was lost again."""

    def members(self) -> dict[str, Any]:
        """All of it, by name."""
        return {"reason": self.reason, "etag": self.etag, "content": self.content, "place": self.place}


def next_attempt(
    carried: RebaseResult, number: int, *, most: int | None = None, lost: str = ""
) -> Request | ConflictDetails | None:
    """The next request, numbered `number`, or the dispute; None if what is proposed stands there already.

    After rebase `most` a race that was lost again, refused with the code `lost`, is a dispute, too.
    """
    if isinstance(carried.rebased, RebaseConflict):
        return ConflictDetails(carried.rebased.why.value, carried.etag, carried.content, carried.rebased.members())
    if not carried.rebased.ops:
        return None
    if most is not None and number > most:
        return ConflictDetails(lost, carried.etag, carried.content)
    return Request(number, carried.etag, carried.rebased.ops)


def command(proposal: Proposal, request: Request, actor: Actor, *, dry_run: bool = False) -> PatchDocument:
    """The patch that a request is."""
    return PatchDocument(
        key=proposal.key,
        actor=actor,
        precondition=IfAbsent() if request.etag is None else IfMatch(request.etag),
        idempotency_key=request.idempotency_key(proposal),
        profile_id=proposal.profile_id,
        binding_id=proposal.binding_id,
        ops=list(request.ops),
        reason=Reason.REPLAY_UPDATE,
        evidence=proposal.evidence,
        confidence=proposal.confidence,
        source_time=proposal.source_time,
        on_behalf_of=proposal.on_behalf_of,
        dry_run=dry_run,
    )


def load_proposal(scope: UserScope, members: dict[str, Any], base: Json) -> Proposal:
    """Read what `Proposal.members` gave. Raises KeyError, TypeError, InvalidIdentifier."""
    rest = {name: value for name, value in members.items() if name not in ("namespace", "path")}
    return Proposal(key=DocumentKey(scope, members["namespace"], members["path"]), base=base, **rest)
