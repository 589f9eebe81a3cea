"""The blob of a document: the members that clients see, and the internal `commit`.

    { doc_id, schema_id, schema_version, created_at, updated_at, updated_by, content, commit: { ... } }

A deleted document keeps its blob, without content, so that its sequence continues and its ETags never recur. While a
user's memory is erased, `erased` tombstones replace the documents until they are removed as well.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import HistoryCorrupt
from memnet.domain.core.json_types import Record, members_of
from memnet.domain.core.scope import ETag, Json
from memnet.domain.core.stored_form import Reading
from memnet.domain.documents.commands import Redirection, Settled

_TEXTS = ("doc_id", "schema_id", "schema_version", "created_at", "updated_at", "updated_by")


class AppliedRequest(NamedTuple):
    """An applied request, kept in the blob so that a retry gets the same response.

    A blob has up to 64 of them, and a tuple is built five times as fast as a frozen dataclass.
    """

    key_hash: str
    request_hash: str
    sequence: int
    etag: ETag
    created: bool
    redirected: tuple[Redirection, ...] = ()
    settled: tuple[Settled, ...] = ()


@dataclass(frozen=True, slots=True)
class Position:
    """The place of a record in audit/ (memnet.domain.documents.audit_segments)."""

    first: int
    """The change that its segment begins with."""
    offset: int
    """The bytes before it in the segment."""


@dataclass(frozen=True, slots=True)
class Commit:
    """The internal part of the blob."""

    sequence: int
    etag: ETag
    record_hash: str
    created_sequence: int
    """The last change that created the document."""
    outbox: tuple[Record, ...]
    """The newest record, and those before it that may not be in audit/ yet, oldest first."""
    position: Position
    """The position of the first record of the outbox in audit/."""
    receipts: tuple[AppliedRequest, ...]
    """The newest applied requests, oldest first."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """A version of a document, parsed. `content` is the caller's own copy, to patch in place."""

    doc_id: str
    schema_id: str
    schema_version: str
    created_at: str
    updated_at: str
    updated_by: str
    content: Json
    commit: Commit
    deleted: bool = False
    erased: bool = False
    """Whether it is the tombstone of an erasure, which no write replaces."""

    def change_id(self, sequence: int) -> str:
        """The name of the record of this document's n-th change."""
        return change_id(self.doc_id, sequence)


@dataclass(frozen=True, slots=True)
class DocumentView:
    """The visible part of a version: its ETag, and the canonical JSON without `commit`."""

    etag: ETag
    document: bytes


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """The part of a version that a listing shows, stored as the blob's metadata (ASCII only)."""

    etag: ETag
    sequence: int
    updated_at: str
    size: int
    """Characters of the canonical JSON of the content; 0 for a deleted document."""
    deleted: bool


def summarise(envelope: Envelope, content: bytes | None = None) -> DocumentSummary:
    """Return the summary for the blob's metadata; `content` is the canonical content, if known."""
    if content is None:
        content = b"" if envelope.deleted else canonical(envelope.content)
    return DocumentSummary(
        etag=envelope.commit.etag,
        sequence=envelope.commit.sequence,
        updated_at=envelope.updated_at,
        size=len(content.decode()),
        deleted=envelope.deleted,
    )


def change_id(doc_id: str, sequence: int) -> str:
    """Name a change; name order is history order."""
    return f"{doc_id}-{sequence:012d}"


def visible(envelope: Envelope) -> bytes:
    """The canonical JSON of the document as clients see it."""
    return canonical(_members(envelope))


def view(envelope: Envelope) -> DocumentView | None:
    """Return the view of this version; None if the document is deleted."""
    return None if envelope.deleted else DocumentView(envelope.commit.etag, visible(envelope))


def tombstone(envelope: Envelope) -> Envelope:
    """Return the tombstone that an erasure writes over a document: its id and sequence, without content."""
    emptied = replace(envelope.commit, outbox=(), receipts=())
    blank = replace(envelope, schema_id="", schema_version="", updated_by="", content=None, commit=emptied)
    return replace(blank, deleted=True, erased=True)


def dump(envelope: Envelope, content: bytes | None = None) -> bytes:
    """Return the bytes of the blob; `content` is its canonical content, if it is known."""
    members = _members(envelope)
    if content and not envelope.deleted:
        members["content"] = orjson.Fragment(content)
    receipts = [_dump_receipt(receipt) for receipt in envelope.commit.receipts]
    position = [envelope.commit.position.first, envelope.commit.position.offset]
    members["commit"] = {**members_of(envelope.commit), "position": position, "receipts": receipts}
    return canonical(members)


def load(data: bytes) -> Envelope:
    """Parse a blob that `dump` wrote, with unshared content. Raises HistoryCorrupt."""
    with Reading(HistoryCorrupt("The stored document cannot be read; run memnet audit verify.")):
        return _load(orjson.loads(data))


def _load(members: dict[str, Any]) -> Envelope:
    commit = members["commit"]
    if not isinstance(commit["sequence"], int) or not all(isinstance(r["sequence"], int) for r in commit["outbox"]):
        raise TypeError
    receipts = tuple(map(_load_receipt, commit.pop("receipts")))
    first, offset = commit.pop("position")
    if not isinstance(first, int) or not isinstance(offset, int):
        raise TypeError
    return Envelope(
        **{name: members[name] for name in _TEXTS},
        content=members.get("content"),
        deleted="content" not in members,
        erased=members.get("erased", False),
        commit=Commit(
            outbox=tuple(commit.pop("outbox")), position=Position(first, offset), receipts=receipts, **commit
        ),
    )


def _members(envelope: Envelope) -> dict[str, Any]:
    members: dict[str, Any] = {name: getattr(envelope, name) for name in _TEXTS}
    if not envelope.deleted:
        members["content"] = envelope.content
    if envelope.erased:
        members["erased"] = True
    return members


def _dump_receipt(receipt: AppliedRequest) -> list[Any]:
    return list(receipt if receipt.settled or receipt.redirected else receipt[:5])


def _load_receipt(row: list[Any]) -> AppliedRequest:
    receipt = AppliedRequest(*row)
    if len(row) == len(AppliedRequest._fields):
        return receipt._replace(redirected=tuple(receipt.redirected), settled=tuple(receipt.settled))
    return receipt
