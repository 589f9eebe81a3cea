"""Write commands, their preconditions and the result of a write."""

from dataclasses import dataclass
from typing import Any

from memnet.domain.core.access import Reason
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.scope import Actor, DocumentKey, ETag, Json

Evidence = dict[str, Any]
"""Pointers to where a change comes from: conversation_id, message_ids, snapshot_uri, span, …"""


@dataclass(frozen=True, slots=True)
class IfMatch:
    """Write only over this version."""

    etag: ETag


@dataclass(frozen=True, slots=True)
class IfAbsent:
    """Write only if the document does not exist (If-None-Match: *)."""


@dataclass(frozen=True, slots=True)
class IfExists:
    """Write over the newest version, whichever it is."""


Precondition = IfMatch | IfAbsent | IfExists


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchDocument:
    """JSON Patch operations on a document, under a profile's binding."""

    key: DocumentKey
    actor: Actor
    precondition: Precondition
    idempotency_key: str
    profile_id: str
    binding_id: str
    ops: Json
    reason: Reason
    evidence: Evidence | None = None
    confidence: float | None = None
    source_time: str | None = None
    on_behalf_of: str | None = None
    """The principal that submitted the conversation behind a replayed patch."""
    dry_run: bool = False

    def request_hash(self) -> str:
        """Return the hash that identifies the request, without its precondition: a retry may send a newer ETag."""
        return _request_hash(
            "PATCH",
            [
                self.profile_id,
                self.binding_id,
                self.ops,
                self.reason,
                self.evidence,
                self.confidence,
                self.source_time,
            ],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceDocument:
    """A whole new content for a document, under a profile's binding."""

    key: DocumentKey
    actor: Actor
    precondition: Precondition
    idempotency_key: str
    profile_id: str
    binding_id: str
    schema_id: str
    schema_version: str
    content: Json
    note: str | None = None
    evidence: Evidence | None = None
    dry_run: bool = False

    def request_hash(self) -> str:
        """As in PatchDocument."""
        return _request_hash(
            "PUT",
            [
                self.profile_id,
                self.binding_id,
                self.schema_id,
                self.schema_version,
                self.content,
                self.note,
                self.evidence,
            ],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteDocument:
    """The deletion of a document; its history stays."""

    key: DocumentKey
    actor: Actor
    precondition: Precondition
    idempotency_key: str
    note: str | None = None
    dry_run: bool = False

    def request_hash(self) -> str:
        """As in PatchDocument."""
        return _request_hash("DELETE", [self.note])


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmPending:
    """The confirmation of a pending item: its operation is applied, and the item is removed."""

    key: DocumentKey
    actor: Actor
    precondition: IfMatch | IfExists
    idempotency_key: str
    pending_id: str
    confidence: float
    evidence: Evidence | None = None
    values: tuple[Json, ...] = ()
    """The value to write instead of the proposed one; empty: the proposed one."""
    dry_run: bool = False

    def request_hash(self) -> str:
        """As in PatchDocument."""
        asked = [self.pending_id, self.confidence, self.evidence, list(self.values)]
        return _request_hash("CONFIRM", asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectPending:
    """The rejection of a pending item: it is removed, and nothing else changes."""

    key: DocumentKey
    actor: Actor
    precondition: IfMatch | IfExists
    idempotency_key: str
    pending_id: str
    note: str | None = None
    dry_run: bool = False

    def request_hash(self) -> str:
        """As in PatchDocument."""
        return _request_hash("REJECT", [self.pending_id, self.note])


WriteCommand = PatchDocument | ReplaceDocument | DeleteDocument | ConfirmPending | RejectPending


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """The result of a write; a repeated request gets the same one, except for `replayed`."""

    etag: ETag
    change_id: str
    sequence: int
    created: bool = False
    replayed: bool = False
    redirected: tuple[dict[str, Any], ...] = ()
    dry_run: bool = False
    document: bytes | None = None
    """On a dry run, the canonical JSON of the document as it would be; None if it would be deleted."""


def _request_hash(method: str, asked: list[Any]) -> str:
    return sha256_hex(canonical([method, *asked]))[:32]
