"""Rebuild earlier versions of a document and verify its history."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import HistoryCorrupt, MalformedRequest, VersionNotFound
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import DocumentKey
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.documents.audit_record import BrokenChain, BrokenLink, Fold, Version, check_head, record_hash
from memnet.domain.documents.envelope import DocumentView, Envelope, change_id, visible
from memnet.domain.history.baseline import Baseline
from memnet.domain.history.origins import Origins

Moment = int | str
"""A sequence, or a time in the form of memnet.domain.core.timestamps."""

Visit = Callable[[Version], None]


@dataclass(frozen=True, slots=True)
class VerifiedHistory:
    """The result of rebuilding one document from its records, up to the first fault."""

    doc_id: str
    key: DocumentKey | None
    """None if no record could be read that says which document it was."""
    changes: int
    """How many versions were rebuilt, that of a baseline included."""
    fault: str | None
    first: int = 1
    marks: Mapping[int, str] = field(default_factory=dict)
    """The hashes of records by the number of the change, for the changes that were asked for."""

    @property
    def last(self) -> int:
        """The number of the newest version that was rebuilt; one less than `first` if none was."""
        return self.first + self.changes - 1


def parse_moment(as_of: str, current: Envelope) -> Moment:
    """Read `as_of`: a change_id of this document, or an RFC 3339 time. Raises VersionNotFound, MalformedRequest."""
    doc_id, _, number = as_of.rpartition("-")
    if len(number) == 12 and number.isascii() and number.isdecimal():
        if doc_id != current.doc_id or not 1 <= int(number) <= current.commit.sequence:
            raise VersionNotFound()
        return int(number)
    try:
        return to_text(from_text(as_of))
    except MalformedRequest as error:
        message = "as_of must be an RFC 3339 date-time such as 2026-02-14T20:00:00Z, or a change_id."
        raise MalformedRequest(message, param="as_of") from error


class VersionAt:
    """Finds the version of a document at a moment: give it the records after a baseline in order, until it is found."""

    def __init__(
        self, moment: Moment, current: Envelope, baseline: Baseline | None, *, begins: int = 1, is_traced: bool = False
    ) -> None:
        """Begin with `baseline`, if any; `begins` is the first change after the oldest one.

        `is_traced`: follow the origins of the values, too. Raises HistoryCorrupt.
        """
        self._moment, self._current, self._begins = moment, current, begins
        self._newest = None if baseline is None else baseline.version()
        try:
            self._chain = Fold(current.doc_id) if baseline is None else baseline.fold()
            begun = Origins() if baseline is None or not is_traced else baseline.tree()
        except BrokenChain as error:
            raise HistoryCorrupt(change_id=error.change_id, reason=error.reason) from error
        self.origins = begun if is_traced else None
        """The origins in the version that was found."""

    def take(self, record: Record) -> bool:
        """Apply the next record; return whether it is later than the moment, so that the version is confirmed.

        Raises HistoryCorrupt.
        """
        try:
            version = self._chain.take(record)
            is_found = _is_after(version, self._moment)
            if not is_found:
                self._newest = version
                if self.origins is not None:
                    self.origins.take(record)
            if self._chain.sequence == self._current.commit.sequence:
                check_head(self._chain, self._current)
        except BrokenChain as error:
            raise HistoryCorrupt(change_id=error.change_id, reason=error.reason) from error
        return is_found

    def version(self) -> Version:
        """Return the version, which has a content.

        Raises HistoryCorrupt; VersionNotFound if the document did not exist at the moment.
        """
        newest = self._newest
        if not self._chain.is_vouched:
            raise HistoryCorrupt(change_id=self._current.change_id(self._chain.sequence + 1))
        if newest is not None and _is_after(newest, self._moment):
            if newest.sequence >= self._begins:
                # The search began with a segment that is later than the time it names.
                raise HistoryCorrupt(change_id=self._current.change_id(newest.sequence + 1))
            raise VersionNotFound("The document's version of then is older than what is kept.")
        if newest is None or newest.content is None:
            raise VersionNotFound()
        return newest

    def view(self) -> DocumentView:
        """Return what `version` returns as a reader sees it."""
        found = self.version()
        return DocumentView(found.etag, canonical(found.document))


def _is_after(version: Version, moment: Moment) -> bool:
    return version.sequence > moment if isinstance(moment, int) else version.timestamp > moment


class Rebuilding:
    """Rebuilds one document from its records, given one after the other, and keeps one version at a time.

    The result is held against the document's own blob. Without a blob (lost, or never read) only the chain itself is
    checked, and the fault says so.
    """

    def __init__(
        self,
        doc_id: str,
        key: DocumentKey | None,
        current: Envelope | None,
        baseline: Baseline | None = None,
        *,
        wanted: Collection[int] = (),
        visits: Sequence[Visit] = (),
    ) -> None:
        """Begin with `baseline`, if any. The marks of the changes in `wanted` are kept; `visits` get each version."""
        self._key, self._head, self._baseline = key, current, baseline
        self._wanted, self._visits = wanted, visits
        self._marks: dict[int, str] = {}
        self._changes = 0
        self._newest: Version | None = None
        self._broken: tuple[BrokenLink, str] | None = None
        self._fault: str | None = None
        self._chain = Fold(doc_id)
        if baseline is not None:
            try:
                if baseline.doc_id != doc_id or baseline.key != key:
                    raise BrokenChain(change_id(doc_id, baseline.sequence), "the baseline speaks of another document")
                self._chain = baseline.fold()
                self._keep(baseline.version())
            except BrokenChain as error:
                self._fault = str(error)

    @property
    def is_over(self) -> bool:
        """Whether there is a fault, so that further records do not matter."""
        return self._fault is not None

    def take(self, record: Record) -> None:
        """Check the next record."""
        if self._broken is not None:
            self._blame(record.get("previous_record_hash"))
        if self._fault is not None:
            return
        try:
            version = self._chain.take(record)
            check_place(record, version, self._key)
        except BrokenLink as error:
            # The record after this one shows which of the two was altered.
            self._broken = error, record_hash(record)
        except BrokenChain as error:
            self._fault = str(error)
        else:
            if self._newest is None or version.sequence > self._newest.sequence:
                self._keep(version)

    def finish(self) -> VerifiedHistory:
        """Compare the end of the chain with the document; return the result."""
        if self._broken is not None:
            self._blame(self._head.commit.record_hash if self._head else None)
        if self._fault is None:
            self._fault = self._fault_of_end()
        return VerifiedHistory(
            self._chain.doc_id,
            self._key,
            self._changes,
            self._fault,
            first=1 if self._baseline is None else self._baseline.sequence,
            marks=self._marks,
        )

    def _fault_of_end(self) -> str | None:
        if self._head is None:
            return "there is no document for these records"
        try:
            check_head(self._chain, self._head)
            _check_visible(self._newest, self._head)
        except BrokenChain as error:
            return str(error)
        return None

    def _keep(self, version: Version) -> None:
        self._changes += 1
        self._newest = version
        if version.sequence in self._wanted:
            self._marks[version.sequence] = version.record_hash
        for visit in self._visits:
            visit(version)

    def _blame(self, vouched: object) -> None:
        """Blame one of two records with a broken link: the first, if the next record has `vouched` for the second."""
        assert self._broken is not None
        (error, second), self._broken = self._broken, None
        begins = 0 if self._baseline is None else self._baseline.sequence
        if vouched != second or self._chain.sequence == 0:
            self._fault = str(error)
        else:
            first = change_id(self._chain.doc_id, self._chain.sequence)
            which = "baseline" if self._chain.sequence == begins else "record"
            self._fault = str(BrokenChain(first, f"the {which} was altered"))


def check_place(record: Record, version: Version, key: DocumentKey | None) -> None:
    """Raise BrokenChain if the record belongs to another document."""
    place = (record.get("tenant_id"), record.get("user_id"), record.get("namespace"), record.get("path"))
    if key is None or place != (key.scope.tenant_id, key.scope.user_id, key.namespace, key.path):
        raise BrokenChain(version.change_id, "the record speaks of another document")


def _check_visible(newest: Version | None, current: Envelope) -> None:
    """Raise BrokenChain if the document's own members differ; after a baseline nothing else confirms them."""
    if newest is not None and newest.content is not None and canonical(newest.document) != visible(current):
        raise BrokenChain(newest.change_id, "the document's envelope is not what its records give")
