"""A patch that a replay proposes, and the requests that apply it.

Each request is stored before it is sent. After a crash the same request is sent again under the same Idempotency-Key,
so it is applied once. A request for another version of the document has a key of its own, of the same lineage.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memnet.domain.core.access import Reason
from memnet.domain.core.evidence import EvidenceMembers
from memnet.domain.core.json_patch import Op
from memnet.domain.core.json_types import members_of
from memnet.domain.core.scope import Actor, DocumentKey, ETag, Json, UserScope
from memnet.domain.documents.commands import IfAbsent, IfMatch, PatchDocument
from memnet.domain.documents.rebase import RebaseConflict, RebaseOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A proposed patch. `base_etag` None: it is proposed on the initial content of a document that does not exist."""

    replay_id: str
    index: int
    """Its index in the replay's plan, from 1."""
    profile_id: str
    binding_id: str
    key: DocumentKey
    base_etag: ETag | None
    base: Json
    ops: Sequence[Op]
    confidence: float
    evidence: EvidenceMembers
    on_behalf_of: str
    source_time: str | None = None
    stated_at: str | None = None
    """When the user stated it in this conversation; None: no word of the user supports it."""
    claimed_by: str | None = None
    """The code of the claimant of the turn."""
    asks_about: str | None = None
    """The id of an open entry that it may be about; it waits, with a question."""

    @property
    def idempotency_key(self) -> str:
        """The key of the first request, and the prefix of the others."""
        return f"{self.replay_id}-{self.index}"

    @property
    def message_ids(self) -> Sequence[str]:
        """The messages that support it."""
        found: Sequence[str] = self.evidence.get("message_ids", ())
        return found

    def members(self) -> dict[str, Any]:
        """Return the stored members, without the user and the base's content."""
        return {**members_of(self, "key", "base"), "namespace": self.key.namespace, "path": self.key.path}


@dataclass(frozen=True, slots=True)
class Request:
    """The operations for one version. Number 0 is the first request, n the n-th rebase."""

    number: int
    etag: ETag | None
    """None: the document must not exist."""
    ops: Sequence[Op]

    def idempotency_key(self, proposal: Proposal) -> str:
        """Return its key, whose lineage the audit log reads."""
        return f"{proposal.idempotency_key}#rebase-{self.number}" if self.number else proposal.idempotency_key


@dataclass(frozen=True, slots=True)
class RebaseResult:
    """A proposal, rebased onto the current version of its document."""

    etag: ETag | None
    content: Json
    rebased: RebaseOutcome


@dataclass(frozen=True, slots=True)
class ConflictDetails:
    """Why a proposal needs a decision, and the version that it conflicts with."""

    reason: str
    """A code, without content."""
    etag: ETag | None
    content: Json
    diverged_at: Json = None
    """Where the versions diverge (`RebaseConflict.members`); None if they do not, and only the race was lost again."""


def next_attempt(
    result: RebaseResult, number: int, *, max_rebases: int | None = None, lost: str = ""
) -> Request | ConflictDetails | None:
    """Return the next request, numbered `number`, or a conflict; None if the document has the same content.

    After `max_rebases` rebases a race that was lost again, refused with the code `lost`, is a conflict as well.
    """
    if isinstance(result.rebased, RebaseConflict):
        return ConflictDetails(result.rebased.why.value, result.etag, result.content, result.rebased.members())
    if not result.rebased.ops:
        return None
    if max_rebases is not None and number > max_rebases:
        return ConflictDetails(lost, result.etag, result.content)
    return Request(number, result.etag, result.rebased.ops)


def command(proposal: Proposal, request: Request, actor: Actor, *, dry_run: bool = False) -> PatchDocument:
    """Return the patch command of a request."""
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
        stated_at=proposal.stated_at,
        asks_about=proposal.asks_about,
        claimed_by=proposal.claimed_by,
        dry_run=dry_run,
    )


def load_proposal(scope: UserScope, members: dict[str, Any], base: Json) -> Proposal:
    """Read what `Proposal.members` returned. Raises KeyError, TypeError, InvalidIdentifier."""
    rest = {name: value for name, value in members.items() if name not in ("namespace", "path")}
    return Proposal(key=DocumentKey(scope, members["namespace"], members["path"]), base=base, **rest)
