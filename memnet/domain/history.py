"""Earlier versions of a document, and whether its history holds."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memnet.domain.audit import BrokenChain, Fold, Version, check_head
from memnet.domain.document import DocumentKey
from memnet.domain.envelope import DocumentView, Envelope, Record
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
    if len(number) == 12 and number.isdecimal():
        if doc_id != head.doc_id or not 1 <= int(number) <= head.commit.sequence:
            raise VersionNotFound()
        return int(number)
    return to_text(from_text(as_of))


def last_needed(moment: Moment, head: Envelope) -> int:
    """The last change that has to be read to know the version at `moment`."""
    return moment if isinstance(moment, int) else head.commit.sequence


def version_at(moment: Moment, doc_id: str, records: Iterable[Record]) -> DocumentView:
    """Fold `records` (from the first on) up to `moment`. Raises VersionNotFound, HistoryBroken."""
    newest: Version | None = None
    try:
        for version in fold(doc_id, records):
            if isinstance(moment, str) and version.timestamp > moment:
                break
            newest = version
    except BrokenChain as error:
        raise HistoryBroken(change_id=error.change_id, reason=error.reason) from error
    if newest is None or newest.document is None:
        raise VersionNotFound()
    return DocumentView(newest.etag, canonical(newest.document))


def fold(doc_id: str, records: Iterable[Record]) -> Iterator[Version]:
    """Every version the records make, oldest first, each link checked. Raises BrokenChain."""
    chain = Fold(doc_id)
    for record in records:
        yield chain.take(record)


def rebuild(doc_id: str, key: DocumentKey | None, records: Sequence[Record], head: Envelope | None) -> Rebuilt:
    """Fold the whole history and hold it against the document's own blob.

    Without a blob (lost, or never read) only the chain itself is checked, and the fault says so.
    """
    chain, versions = Fold(doc_id), []
    try:
        for record in records:
            versions.append(chain.take(record))
        if head is not None:
            check_head(chain, head)
    except BrokenChain as error:
        return Rebuilt(doc_id, key, versions, str(error))
    return Rebuilt(doc_id, key, versions, None if head else "there is no document for these records")
