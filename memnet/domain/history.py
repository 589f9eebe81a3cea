"""Earlier versions of a document, and whether its history holds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memnet.domain.audit import BrokenChain, BrokenLink, Fold, Version, check_head, record_hash
from memnet.domain.document import DocumentKey
from memnet.domain.envelope import DocumentView, Envelope, Record, change_id
from memnet.domain.errors import HistoryBroken, VersionNotFound
from memnet.domain.json_text import canonical
from memnet.domain.timestamps import from_text, to_text

Moment = int | str
"""A sequence, or a time in the form of memnet.domain.timestamps."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """One document, rebuilt from its records: every version up to the first fault, and that fault."""

    doc_id: str
    key: DocumentKey | None
    """None if no record could be read that says which document it was."""
    versions: Sequence[Version]
    fault: str | None


def parse_moment(as_of: str, head: Envelope) -> Moment:
    """Read `as_of`: a change_id of this document, or an RFC 3339 time. Raises VersionNotFound, MalformedRequest."""
    doc_id, _, number = as_of.rpartition("-")
    if len(number) == 12 and number.isascii() and number.isdecimal():
        if doc_id != head.doc_id or not 1 <= int(number) <= head.commit.sequence:
            raise VersionNotFound()
        return int(number)
    return to_text(from_text(as_of))


def last_needed(moment: Moment, head: Envelope) -> int:
    """The last change that has to be read to know the version at `moment`: the one after it vouches for its record."""
    return min(moment + 1, head.commit.sequence) if isinstance(moment, int) else head.commit.sequence


def version_at(moment: Moment, head: Envelope, records: Iterable[Record]) -> DocumentView:
    """Fold `records` (from the first to `last_needed`) up to `moment`; the newest is held against `head`.

    Raises VersionNotFound, HistoryBroken.
    """
    chain = Fold(head.doc_id)
    newest: Version | None = None
    try:
        for version in map(chain.take, records):
            if _is_after(version, moment):
                break
            newest = version
        if chain.sequence >= head.commit.sequence:
            check_head(chain, head)
    except BrokenChain as error:
        raise HistoryBroken(change_id=error.change_id, reason=error.reason) from error
    if newest is None or newest.document is None:
        raise VersionNotFound()
    return DocumentView(newest.etag, canonical(newest.document))


def _is_after(version: Version, moment: Moment) -> bool:
    return version.sequence > moment if isinstance(moment, int) else version.timestamp > moment


def rebuild(doc_id: str, key: DocumentKey | None, records: Sequence[Record], head: Envelope | None) -> Rebuilt:
    """Fold the whole history and hold it against the document's own blob.

    Without a blob (lost, or never read) only the chain itself is checked, and the fault says so.
    """
    chain, versions = Fold(doc_id), list[Version]()
    try:
        for record in records:
            version = chain.take(record)
            _check_place(record, version, key)
            versions.append(version)
        if head is not None:
            check_head(chain, head)
    except BrokenLink as error:
        return Rebuilt(doc_id, key, versions, str(_blame(error, records, len(versions), head)))
    except BrokenChain as error:
        return Rebuilt(doc_id, key, versions, str(error))
    return Rebuilt(doc_id, key, versions, None if head else "there is no document for these records")


def _check_place(record: Record, version: Version, key: DocumentKey | None) -> None:
    """Raise BrokenChain if the record speaks of another document than the one whose history it stands in."""
    place = (record.get("tenant_id"), record.get("user_id"), record.get("namespace"), record.get("path"))
    if key is None or place != (key.scope.tenant_id, key.scope.user_id, key.namespace, key.path):
        raise BrokenChain(version.change_id, "the record speaks of another document")


def _blame(broken: BrokenLink, records: Sequence[Record], index: int, head: Envelope | None) -> BrokenChain:
    """Say which of two records with a broken link was altered: the first, if what follows vouches for the second."""
    if index + 1 < len(records):
        vouched = records[index + 1].get("previous_record_hash")
    else:
        vouched = head.commit.record_hash if head else None
    if index > 0 and vouched == record_hash(records[index]):
        return BrokenChain(change_id(broken.change_id.rpartition("-")[0], index), "the record was altered")
    return broken
