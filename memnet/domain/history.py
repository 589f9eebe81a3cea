"""Earlier versions of a document, and whether its history holds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memnet.domain.audit import (
    FIRST_HASH,
    BrokenChain,
    BrokenLink,
    Fold,
    Version,
    check_end,
    check_head,
    record_hash,
)
from memnet.domain.baseline import Baseline
from memnet.domain.document import DocumentKey, ETag
from memnet.domain.envelope import DocumentView, Envelope, Record, change_id, visible
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
    is_opened: bool = True
    """False: records are sealed and there is no vault. Only their chain was checked, and no version has its content."""
    left: "Left | None" = None
    """What is left of it if there is no document; None: there is one."""
    removed_by: str | None = None
    """The erasure that has removed the document, lawfully; what is left of its history holds."""


@dataclass(frozen=True, slots=True)
class Left:
    """Records without their document, of which some may be gone."""

    hashes: Mapping[int, str]
    """By the number of the change."""
    newest_at: str
    """When the newest of them was made; empty if there is none."""
    fault: str | None
    """What contradicts itself in them, which no removal explains."""


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


def version_at(
    moment: Moment, head: Envelope, records: Iterable[Record], baseline: Baseline | None = None
) -> DocumentView:
    """Fold `records` (from the first, or the one after `baseline`, to `last_needed`) up to `moment`.

    The newest is held against `head`. Raises VersionNotFound, HistoryBroken.
    """
    newest = None if baseline is None else baseline.version()
    if newest is not None and _is_after(newest, moment):
        raise VersionNotFound("The document's version of then is older than what is kept.")
    try:
        chain = Fold(head.doc_id) if baseline is None else baseline.fold()
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


def rebuild(
    doc_id: str,
    key: DocumentKey | None,
    records: Sequence[Record],
    head: Envelope | None,
    baseline: Baseline | None = None,
) -> Rebuilt:
    """Fold the whole history, or what follows `baseline`, and hold it against the document's own blob.

    Without a blob (lost, or never read) only the chain itself is checked, and the fault says so.
    """
    chain, versions = Fold(doc_id), list[Version]()
    try:
        if baseline is not None:
            _check_baseline(baseline, doc_id, key)
            chain, versions = baseline.fold(), [baseline.version()]
        for record in records:
            version = chain.take(record)
            check_place(record, version, key)
            versions.append(version)
        if head is not None:
            check_head(chain, head)
            _check_visible(versions, head)
    except BrokenLink as error:
        return Rebuilt(doc_id, key, versions, str(_blame(error, records, head, baseline)))
    except BrokenChain as error:
        return Rebuilt(doc_id, key, versions, str(error))
    return Rebuilt(doc_id, key, versions, None if head else "there is no document for these records")


def follow(
    doc_id: str,
    key: DocumentKey | None,
    records: Sequence[Record],
    head: Envelope | None,
    baseline: Baseline | None = None,
) -> Rebuilt:
    """Check what needs no key: that the records, sealed or not, form one chain, and the document's own blob its end."""
    versions, sequence, newest_hash = list[Version](), 0, FIRST_HASH
    try:
        if baseline is not None:
            _check_baseline(baseline, doc_id, key)
            versions, sequence, newest_hash = [baseline.version()], baseline.sequence, baseline.record_hash
        for record in records:
            versions.append(_link(doc_id, sequence + 1, newest_hash, record))
            check_place(record, versions[-1], key)
            sequence, newest_hash = sequence + 1, versions[-1].record_hash
        if head is not None:
            check_end(head, sequence, newest_hash)
    except BrokenLink as error:
        return Rebuilt(doc_id, key, versions, str(_blame(error, records, head, baseline)), is_opened=False)
    except BrokenChain as error:
        return Rebuilt(doc_id, key, versions, str(error), is_opened=False)
    return Rebuilt(doc_id, key, versions, None if head else "there is no document for these records", is_opened=False)


def _check_baseline(baseline: Baseline, doc_id: str, key: DocumentKey | None) -> None:
    if baseline.doc_id != doc_id or baseline.key != key:
        raise BrokenChain(change_id(doc_id, baseline.sequence), "the baseline speaks of another document")


def _link(doc_id: str, sequence: int, previous_hash: str, record: Record) -> Version:
    """The version that a record made, as far as can be told without its values."""
    expected = change_id(doc_id, sequence)
    own = (record.get("change_id"), record.get("doc_id"), record.get("sequence"))
    if own != (expected, doc_id, sequence):
        raise BrokenChain(expected, "the record is missing, another's or out of order")
    if record.get("previous_record_hash") != previous_hash:
        raise BrokenLink(expected, "the link to the record before it is broken")
    return Version(
        sequence=sequence,
        change_id=expected,
        etag=ETag(str(record.get("post_etag"))),
        timestamp=str(record.get("timestamp")),
        document=None,
        created_sequence=0,
        record_hash=record_hash(record),
    )


def check_place(record: Record, version: Version, key: DocumentKey | None) -> None:
    """Raise BrokenChain if the record speaks of another document than the one whose history it stands in."""
    place = (record.get("tenant_id"), record.get("user_id"), record.get("namespace"), record.get("path"))
    if key is None or place != (key.scope.tenant_id, key.scope.user_id, key.namespace, key.path):
        raise BrokenChain(version.change_id, "the record speaks of another document")


def _check_visible(versions: Sequence[Version], head: Envelope) -> None:
    """Raise BrokenChain if the document's own members differ, for which nothing else vouches after a baseline."""
    newest = versions[-1].document if versions else None
    if newest is not None and canonical(newest) != visible(head):
        raise BrokenChain(versions[-1].change_id, "the document's envelope is not what its records give")


def _blame(
    broken: BrokenLink, records: Sequence[Record], head: Envelope | None, baseline: Baseline | None
) -> BrokenChain:
    """Say which of two records with a broken link was altered: the first, if what follows vouches for the second.

    The first of two can be the baseline.
    """
    doc_id, _, number = broken.change_id.rpartition("-")
    before = int(number) - 1
    index = before - (baseline.sequence if baseline else 0)
    if index + 1 < len(records):
        vouched = records[index + 1].get("previous_record_hash")
    else:
        vouched = head.commit.record_hash if head else None
    if vouched != record_hash(records[index]) or (index == 0 and baseline is None):
        return broken
    return BrokenChain(change_id(doc_id, before), f"the {'record' if index else 'baseline'} was altered")


def part(records: Mapping[str, Record], baseline: Baseline) -> tuple[dict[str, Record], dict[str, Record]]:
    """Part a document's records, by change, into those the baseline stands for and the others."""
    own = {change: record for change, record in records.items() if is_covered(change, baseline)}
    return own, {change: record for change, record in records.items() if change not in own}


def is_covered(change: str, baseline: Baseline) -> bool:
    """Whether the baseline stands for this change."""
    number = change.removeprefix(f"{baseline.doc_id}-")
    return len(number) == 12 and number.isascii() and number.isdecimal() and 1 <= int(number) <= baseline.sequence


def fault_of_covered(covered: Mapping[str, Record], baseline: Baseline) -> str | None:
    """The first fault of records that a baseline stands for and that are not removed yet; None if they hold.

    Some may be gone. What lies side by side must be linked, the newest to the baseline.
    """
    fault = _fault_of_links(baseline.doc_id, covered)
    if fault is not None:
        return fault
    last = covered.get(baseline.change_id)
    if last is not None and record_hash(last) != baseline.record_hash:
        return f"{baseline.change_id}: the record is not the one that the baseline stands for"
    return None


def what_is_left(doc_id: str, records: Mapping[str, Record], baseline: Baseline | None) -> Left:
    """Look through the records, by change, of a history that has no document: what lies side by side must be linked."""
    fault = _fault_of_links(doc_id, records)
    if fault is not None:
        return Left({}, "", fault)
    if baseline is not None:
        covered, others = part(records, baseline)
        following = others.get(change_id(doc_id, baseline.sequence + 1))
        fault = fault_of_covered(covered, baseline)
        if following is not None and following.get("previous_record_hash") != baseline.record_hash:
            fault = fault or f"{baseline.change_id}: the baseline was altered, or the record after it"
    times = [str(record.get("timestamp")) for record in records.values()]
    times += [] if baseline is None else [baseline.timestamp]
    hashes = {record["sequence"]: record_hash(record) for record in records.values()}
    return Left(hashes, max(times, default=""), fault)


def _fault_of_links(doc_id: str, records: Mapping[str, Record]) -> str | None:
    for change, record in sorted(records.items()):
        is_own = record.get("change_id") == change and record.get("doc_id") == doc_id
        if not is_own or type(record.get("sequence")) is not int or change_id(doc_id, record["sequence"]) != change:
            return f"{change}: the record is another's or cannot be read"
    for (one, first), (_, second) in pairwise(sorted(records.items())):
        adjoins = second["sequence"] == first["sequence"] + 1
        if adjoins and second.get("previous_record_hash") != record_hash(first):
            return f"{one}: the record was altered, or the one after it"
    return None
