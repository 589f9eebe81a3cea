"""A retraction: a source of memory is taken back. It is planned, applied by another request, and can be undone.

The record is one blob below the user's prefix. Its status and its counts are plain; its plan, which holds values, is
sealed. Each write of it is conditional, so two workers never take the same step.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

import orjson

from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.errors import DecryptionFailed, HistoryCorrupt
from memnet.domain.core.evidence import EvidenceMembers
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.json_patch import Op
from memnet.domain.core.json_types import members_of
from memnet.domain.core.scope import DocumentKey, ETag, Json, UserScope
from memnet.domain.core.stored_form import Reading
from memnet.domain.core.timestamps import to_text
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.governance.source import Source, load_source
from memnet.domain.governance.withdrawn import PlannedItem, load_item

MAX_REASON = 1000


class RetractionStatus(StrEnum):
    """The state of a retraction.

    PLANNED: nothing has changed. APPLYING, UNDOING: a worker is at it. APPLIED: all that was planned is done. PARTIAL:
    the same, but some values could not be taken back; the plan names them. FAILED: it stopped, and `:apply` or `:undo`
    continues it. UNDONE: what it took is back, except where there was a newer write.
    """

    PLANNED = "planned"
    APPLYING = "applying"
    APPLIED = "applied"
    PARTIAL = "partial"
    FAILED = "failed"
    UNDOING = "undoing"
    UNDONE = "undone"


RUNNING = frozenset({RetractionStatus.APPLYING, RetractionStatus.UNDOING})
"""The states in which a worker has something to do."""


class ValueFate(StrEnum):
    """What happens to a value of a document.

    REMOVED: it rests on the source alone. PUT_BACK: so does it, and the value before it returns. STRIPPED: it has
    another source, and loses the evidence of this one. REOPENED: a statement that the source closed holds again, or its
    interval changes. UNRESOLVED: it stays, and `why` says why.
    """

    REMOVED = "removed"
    PUT_BACK = "put_back"
    STRIPPED = "stripped"
    REOPENED = "reopened"
    UNRESOLVED = "unresolved"


class Why(StrEnum):
    """Why a value that rests on the source stays.

    OLDER_THAN_HISTORY: its evidence names the source, but the change that put it is not kept. SCHEMA, LIMIT, DENIED:
    the document without it would violate its schema or a limit, or have a field that the profile denies. READ_ONLY: no
    profile may write the document. NOT_PROVEN: the gate could not prove that nothing else changes.
    """

    OLDER_THAN_HISTORY = "older_than_history"
    SCHEMA = "schema"
    LIMIT = "limit"
    DENIED = "denied"
    READ_ONLY = "read_only"
    NOT_PROVEN = "not_proven"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedValue:
    """One value of a document and its fate. `before` and `after` are the value now and then; None: there is none."""

    pointer: str
    """In the version that the plan was made on, such as /content/people/0."""
    fate: ValueFate
    why: Why | None = None
    before: Json = None
    after: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRequest:
    """One patch of a document, stored before it is sent, so that it is applied once. Number n is the n-th new plan."""

    number: int
    etag: ETag
    """The version of the document that it changes."""
    ops: Sequence[Op]
    evidence: EvidenceMembers
    before: Json
    """The content that the operations apply to; an undo restores it."""
    origins: Json
    """Where its values come from, in the form of memnet.domain.history.origin_table."""

    def key(self, retraction_id: str, *, undoes: bool) -> str:
        """Return its idempotency key, which no other request of the retraction for this document has.

        It names the version, because the number begins again when the plan has expired or has a second row for it.
        """
        version = self.etag.strip('"')
        return f"{retraction_id}-{'undo' if undoes else 'apply'}-{version}-{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPlan:
    """What happens to one document: its values, the patch, and its result."""

    namespace: str
    path: str
    etag: ETag
    """The version that `values` were planned on."""
    profile_id: str | None
    """The profile by whose rules the patch is made; None: no profile may write the document."""
    binding_id: str | None
    values: Sequence[PlannedValue]
    request: DocumentRequest | None = None
    change_id: str | None = None
    """The change that applied it."""
    undo: DocumentRequest | None = None
    undo_change_id: str | None = None
    is_done: bool = False
    """Whether the current step, applying or undoing, has dealt with the document."""
    not_undone: Sequence[str] = ()
    """The pointers of values that an undo could not bring back: another write has changed them since, or the document
    is gone, or the rules of its profile do not allow them any more."""

    def key(self, scope: UserScope) -> DocumentKey:
        """Return the key of the document."""
        return DocumentKey(scope, self.namespace, self.path)

    def without_undo(self) -> "DocumentPlan":
        """Return the row of a document to which an undo can bring nothing back."""
        taken = [one.pointer for one in self.values if one.fate is not ValueFate.UNRESOLVED]
        return replace(self, undo=None, not_undone=() if self.change_id is None else tuple(taken))

    def without_unresolved(self) -> "DocumentPlan":
        """Return the row without the values that stayed."""
        return replace(self, values=tuple(one for one in self.values if one.fate is not ValueFate.UNRESOLVED))

    def members(self) -> dict[str, Any]:
        """Return the members of the API's response."""
        shown = members_of(self, "values", "request", "undo", "is_done", "not_undone")
        shown["not_undone"] = list(self.not_undone)
        return {**shown, "values": [members_of(value) for value in self.values]}


@dataclass(frozen=True, slots=True)
class RetractionPlan:
    """The plain form of the sealed part: the documents, and the other items that rest on the source."""

    documents: Sequence[DocumentPlan] = ()
    items: Sequence[PlannedItem] = ()
    replay_ids: Sequence[str] = ()
    """The replays of the source, whose changes rest on it."""

    def dump(self) -> bytes:
        """Return the plaintext to be sealed."""
        documents = [
            {
                **members_of(one, "values", "request", "undo"),
                "not_undone": list(one.not_undone),
                "values": [members_of(value) for value in one.values],
                "request": one.request and members_of(one.request),
                "undo": one.undo and members_of(one.undo),
            }
            for one in self.documents
        ]
        items = [item.members() for item in self.items]
        return canonical({"documents": documents, "items": items, "replay_ids": list(self.replay_ids)})

    def etag(self, retraction_id: str) -> ETag:
        """Return the tag of what was planned, which `:apply` names. What is done later does not change it."""
        planned = [[one.namespace, one.path, one.etag, [members_of(v) for v in one.values]] for one in self.documents]
        items = [item.members() for item in self.items]
        return ETag(f'"{sha256_hex(canonical([retraction_id, planned, items]))[:32]}"')

    def counts(self) -> dict[str, int]:
        """Return how many values and items have each fate."""
        fates = Counter(value.fate.value for one in self.documents for value in one.values)
        return {fate.value: fates[fate.value] for fate in ValueFate} | {"items": len(self.items)}

    def with_document(self, index: int, changed: DocumentPlan) -> "RetractionPlan":
        """Replace one document's plan."""
        return replace(self, documents=(*self.documents[:index], changed, *self.documents[index + 1 :]))

    def with_unresolved(self, found: Sequence[DocumentPlan]) -> "RetractionPlan":
        """Report the values that stay after the last patch: `found` has the unresolved ones of each document."""
        if _staying(found) == _staying(self.documents):
            return self
        rows = [one.without_unresolved() for one in self.documents]
        kept = [one for one in rows if one.values or one.change_id is not None]
        return replace(self, documents=(*kept, *found))


def _staying(documents: Sequence[DocumentPlan]) -> Counter[tuple[str, str, bytes]]:
    """Count the values that stay, by document and content; their pointers change with each version."""
    return Counter(
        (one.namespace, one.path, canonical([value.why, value.before]))
        for one in documents
        for value in one.values
        if value.fate is ValueFate.UNRESOLVED
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Retraction:
    """The record of a retraction. Its methods return the record after a step. Raises InvalidIdentifier."""

    scope: UserScope
    retraction_id: str
    source: Source
    reason: str
    status: RetractionStatus
    etag: ETag
    """The tag of the plan."""
    counts: Mapping[str, int]
    planned_by: str
    created_at: str
    updated_at: str
    applied_by: str | None = None
    undone_by: str | None = None
    failure: str | None = None
    """Of a failed one: the code of the error."""
    attempts: int = 0
    needs_another: bool = False
    """Whether another principal than the planner has to apply it, by a profile of a document of the plan."""
    request_hash: str = ""
    sealed: Json = None

    @property
    def key(self) -> ItemKey:
        """The key of its record."""
        return retraction_key(self.scope, self.retraction_id)

    @property
    def job(self) -> Job:
        """The job that applies or undoes it."""
        return Job(JobKind.RETRACTION, self.scope.tenant_id, self.scope.user_id, self.retraction_id)

    @property
    def is_running(self) -> bool:
        """Whether a worker has something to do."""
        return self.status in RUNNING

    @property
    def may_expire(self) -> bool:
        """Whether nothing of it is half done."""
        return not self.is_running and self.status is not RetractionStatus.FAILED

    @property
    def is_expired(self) -> bool:
        """Whether retention has deleted its plan."""
        return self.sealed is None

    @property
    def waits(self) -> bool:
        """Whether it waits for a person."""
        return self.status in (RetractionStatus.PLANNED, RetractionStatus.FAILED)

    def members(self) -> dict[str, Any]:
        """Return the members of the API's response, without the plan."""
        shown = members_of(self, "scope", "sealed", "request_hash", "source", "attempts", "counts")
        return {**shown, "source": self.source.members(), "counts": dict(self.counts)}

    def begin(self, status: RetractionStatus, by: str, now: datetime) -> "Retraction":
        """Let a worker apply or undo it."""
        known = None if self.failure == ErrorCode.PLANNER_CANNOT_APPLY.value else self.applied_by
        who = {"applied_by": known or by} if status is RetractionStatus.APPLYING else {"undone_by": by}
        return self._changed(now, status=status, failure=None, attempts=self.attempts + 1, **who)

    def end(self, status: RetractionStatus, now: datetime, failure: str | None = None) -> "Retraction":
        """End the step of the worker. A planner who may not apply it leaves that to another principal."""
        needs_another = self.needs_another or failure == ErrorCode.PLANNER_CANNOT_APPLY.value
        return self._changed(now, status=status, failure=failure, needs_another=needs_another)

    def with_plan(self, sealed: Json, counts: Mapping[str, int], now: datetime) -> "Retraction":
        """Replace the plan, which holds the next request."""
        return self._changed(now, sealed=sealed, counts=counts)

    def _changed(self, now: datetime, **changes: Any) -> "Retraction":
        return replace(self, updated_at=to_text(now), **changes)


def retraction_id_of(scope: UserScope, principal: str, idempotency_key: str) -> str:
    """Return the id of the one retraction that a principal's request can have."""
    return f"rtr-{sha256_hex(canonical([scope.prefix, principal, idempotency_key]))[:32]}"


def retraction_key(scope: UserScope, retraction_id: str) -> ItemKey:
    """Return the key of a retraction's record. Raises InvalidIdentifier."""
    return ItemKey(scope, ItemKind.RETRACTIONS, retraction_id)


def dump(retraction: Retraction) -> bytes:
    """Return the stored form."""
    owner = {"tenant_id": retraction.scope.tenant_id, "user_id": retraction.scope.user_id}
    private = {name: getattr(retraction, name) for name in ("request_hash", "attempts", "sealed")}
    return canonical({**owner, **retraction.members(), **private})


def load(data: bytes) -> Retraction:
    """Read the stored form. Raises HistoryCorrupt."""
    with Reading(HistoryCorrupt("The stored retraction cannot be read.")):
        members = orjson.loads(data)
        scope = UserScope(members.pop("tenant_id"), members.pop("user_id"))
        status, source = RetractionStatus(members.pop("status")), load_source(members.pop("source"))
        return Retraction(scope=scope, status=status, source=source, **members)


def load_plan(data: bytes) -> RetractionPlan:
    """Read what `RetractionPlan.dump` wrote. Raises DecryptionFailed."""
    with Reading(DecryptionFailed()):
        members = orjson.loads(data)
        documents = tuple(_document(row) for row in members["documents"])
        items = tuple(load_item(row) for row in members["items"])
        return RetractionPlan(documents, items, tuple(members["replay_ids"]))


def _document(row: dict[str, Any]) -> DocumentPlan:
    values = tuple(
        PlannedValue(**{**value, "fate": ValueFate(value["fate"]), "why": value["why"] and Why(value["why"])})
        for value in row.pop("values")
    )
    request, undo = (row.pop(name) for name in ("request", "undo"))
    return DocumentPlan(
        values=values,
        request=None if request is None else DocumentRequest(**request),
        undo=None if undo is None else DocumentRequest(**undo),
        not_undone=tuple(row.pop("not_undone")),
        **row,
    )
