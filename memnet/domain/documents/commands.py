"""Write commands, their preconditions and the result of a write."""

from dataclasses import dataclass
from typing import Literal, NotRequired, TypedDict

from memnet.domain.core.access import Reason
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.evidence import EvidenceMembers
from memnet.domain.core.scope import Actor, DocumentKey, ETag, Json


class Redirection(TypedDict):
    """An operation that became a pending item: its index and path, the section and id of the item, and why."""

    op_index: int
    path: str
    to: str
    pending_id: str
    required: float | None
    """None: it waits whatever its confidence."""
    given: float | None
    """The confidence of the request."""
    reason: str


Verdict = Literal["new", "same", "beside", "completed", "late", "superseded", "asked", "kept"]
"""The verdict of the gate on a statement; docs/statements.md describes each."""


class Settled(TypedDict):
    """The verdict on the statement in one operation: its index, and the id of the entry that has it now.

    `entry_id` is None if no entry has it: it waits as the pending item `pending_id`, or was dropped (kept).
    """

    op_index: int
    verdict: Verdict
    entry_id: str | None
    replaces: NotRequired[str]
    """The id of the entry that held until this one."""
    replaced_by: NotRequired[str]
    """The id of the entry that held after this one; of a statement that was dropped: of the entry that stayed."""
    pending_id: NotRequired[str]


@dataclass(frozen=True, slots=True)
class IfMatch:
    """Write only over this version."""

    etag: ETag


@dataclass(frozen=True, slots=True)
class IfAbsent:
    """Write only if the document does not exist (If-None-Match: *)."""


@dataclass(frozen=True, slots=True)
class IfExists:
    """Write over the current version, whichever it is."""


Precondition = IfMatch | IfAbsent | IfExists


@dataclass(frozen=True, slots=True, kw_only=True)
class _Write:
    """The members of every write command."""

    key: DocumentKey
    actor: Actor
    precondition: Precondition
    idempotency_key: str
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchDocument(_Write):
    """JSON Patch operations on a document, under a profile's binding."""

    profile_id: str
    binding_id: str
    ops: Json
    reason: Reason
    evidence: EvidenceMembers | None = None
    confidence: float | None = None
    source_time: str | None = None
    on_behalf_of: str | None = None
    """The principal that submitted the conversation behind a replayed patch."""
    stated_at: str | None = None
    """Of a replayed patch: when the user stated it in the conversation of its evidence; None: not in so many words."""
    claimed_by: str | None = None
    """The code of the claimant in this scope, which the service writes into the statements; None: no one's."""
    asks_about: str | None = None
    """Of a replayed patch: the id of an open entry that it may be about; it waits, with the question of its section."""

    def request_hash(self) -> str:
        """Return the hash that identifies the request. A retry may have another precondition."""
        why = self.reason, self.evidence, self.confidence, self.source_time, self.claimed_by
        return _request_hash("PATCH", self.profile_id, self.binding_id, self.ops, *why)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceDocument(_Write):
    """New content for a whole document, under a profile's binding."""

    profile_id: str
    binding_id: str
    schema_id: str
    schema_version: str
    content: Json
    note: str | None = None
    evidence: EvidenceMembers | None = None

    def request_hash(self) -> str:
        """Return the hash that identifies the request."""
        rules = self.profile_id, self.binding_id, self.schema_id, self.schema_version
        return _request_hash("PUT", *rules, self.content, self.note, self.evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteDocument(_Write):
    """The deletion of a document; its history stays."""

    note: str | None = None

    def request_hash(self) -> str:
        """Return the hash that identifies the request."""
        return _request_hash("DELETE", self.note)


Take = Literal["proposed", "existing", "both"]
"""The answer to a pending item that contradicts an entry: which of the two is right, or both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmPending(_Write):
    """The confirmation of a pending item: its operation is applied, and the item is removed."""

    precondition: IfMatch | IfExists
    pending_id: str
    confidence: float
    evidence: EvidenceMembers | None = None
    values: tuple[Json, ...] = ()
    """The value to write instead of the proposed one; empty: the proposed one."""
    take: Take = "proposed"
    choice: int = 1
    """Which proposal to take, as an index into the item's `choices`; 0 is the open entry, so the first one is 1."""
    apart: str | None = None
    """With `both`: what sets the proposed entry apart in the last member of `about`; None: its value."""

    def request_hash(self) -> str:
        """Return the hash that identifies the request."""
        answer = self.take, self.choice, self.apart
        return _request_hash("CONFIRM", self.pending_id, self.confidence, self.evidence, list(self.values), *answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectPending(_Write):
    """The rejection of a pending item: it is removed, and nothing else changes."""

    precondition: IfMatch | IfExists
    pending_id: str
    note: str | None = None

    def request_hash(self) -> str:
        """Return the hash that identifies the request."""
        return _request_hash("REJECT", self.pending_id, self.note)


WriteCommand = PatchDocument | ReplaceDocument | DeleteDocument | ConfirmPending | RejectPending


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """The result of a write; a repeated request gets the same one, except for `replayed`."""

    etag: ETag
    change_id: str
    sequence: int
    created: bool = False
    replayed: bool = False
    redirected: tuple[Redirection, ...] = ()
    settled: tuple[Settled, ...] = ()
    dry_run: bool = False
    document: bytes | None = None
    """On a dry run, the canonical JSON of the document as it would be; None if it would be deleted."""

    @property
    def has_proposed(self) -> bool:
        """Whether some of it waits for confirmation."""
        return bool(self.redirected) or any("pending_id" in one for one in self.settled)


def _request_hash(method: str, *asked: Json) -> str:
    return sha256_hex(canonical([method, *asked]))[:32]
