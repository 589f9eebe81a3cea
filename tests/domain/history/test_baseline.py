"""A baseline replaces all records up to its own, and a forged one is reported."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import HistoryCorrupt, VersionNotFound
from memnet.domain.core.scope import DocumentKey, ETag
from memnet.domain.documents.audit_record import BrokenChain
from memnet.domain.documents.audit_values import AuditRecordLocation, seal
from memnet.domain.documents.envelope import load, visible
from memnet.domain.history import baseline as baselines
from memnet.domain.history.baseline import Baseline
from memnet.domain.history.reconstruction import Moment, VersionAt
from memnet.domain.sealing.sealing import DataKey
from tests.domain.rebuilding import baseline_after, rebuild
from tests.domain.samples import KEY, SCOPE, History, altered, op


def life() -> History:
    """Eight changes: the fourth is a deletion, the fifth a new life; each at its own hour."""
    made = History()

    def now() -> str:
        return f"2026-02-14T{10 + len(made.versions)}:00:00.000000Z"

    made.patch(op("add", "/content/a", value=[1]), now=now())
    made.patch(op("add", "/content/a/-", value=2), now=now())
    made.patch(op("add", "/content/é", value={"b": None}), now=now())
    made.delete()
    for number in range(4):
        made.patch(op("add", f"/content/n{number}", value=number), now=now())
    return made


LIFE = life()
HEAD = load(LIFE.versions[-1])
COUNT = len(LIFE.records)
PLACE = AuditRecordLocation(SCOPE, f"doc-1-{COUNT:012d}")


def at(number: int) -> Baseline:
    return baseline_after(LIFE.records, number, "p")


def after(number: int) -> Any:
    """The records that confirm a baseline: those after it, or its own if it is the newest."""
    return LIFE.records[min(number, COUNT - 1) :]


def rebuilt(baseline: Baseline, records: Any = None, head: Any = HEAD) -> Any:
    return rebuild("doc-1", KEY, after(baseline.sequence) if records is None else records, head, baseline)


def version_at(moment: Moment, records: Any, baseline: Baseline, *, begins: int | None = None) -> Any:
    search = VersionAt(moment, HEAD, baseline, begins=begins or baseline.sequence + 1)
    for record in records:
        if search.take(record):
            break
    return search.view()


@pytest.mark.parametrize("number", range(1, COUNT + 1))
def test_every_later_version_is_rebuilt_byte_for_byte(number: Any) -> None:
    found = rebuilt(at(number))
    assert found.fault is None
    assert [version.sequence for version in found.versions] == list(range(number, COUNT + 1))
    for version in found.versions:
        stored = load(LIFE.versions[version.sequence - 1])
        assert version.etag == stored.commit.etag
        assert version.record_hash == stored.commit.record_hash
        assert (version.document is None) == stored.deleted
        if version.document is not None:
            assert canonical(version.document) == visible(stored)


@pytest.mark.parametrize("number", range(1, COUNT + 1))
def test_what_is_written_is_read_and_nothing_else(number: Any) -> None:
    baseline = at(number)
    data = baselines.dump(baseline)
    assert baselines.load(data) == baseline
    members = orjson.loads(data)
    for other in (b"", b"{}", b"[]", b"5", b"null", b"\xff", data[:-1], data + b" ", data.replace(b'":', b'": ', 1)):
        assert baselines.load(other) is None
    for name in members:
        if name not in ("content", "origins") or number == 4:
            assert baselines.load(canonical({key: value for key, value in members.items() if key != name})) is None
        assert baselines.load(canonical({**members, name: ["x"]})) is None or name in ("content", "origins")
    assert baselines.load(canonical({**members, "more": 1})) is None


FORGERIES = {
    "content": lambda b: replace(b, content={"forged": True}, deleted=False),
    "record_hash": lambda b: replace(b, record_hash="f" * 64),
    "etag": lambda b: replace(b, etag=ETag('"9-ffffffffffffffff"')),
    "key": lambda b: replace(b, key=DocumentKey(SCOPE, "n", "other.json")),
    "doc_id": lambda b: replace(b, doc_id="doc-2"),
    "deleted": lambda b: replace(b, deleted=not b.deleted, content=None if not b.deleted else {}),
    "sequence": lambda b: replace(b, sequence=b.sequence + 1),
}


@pytest.mark.parametrize("number", [1, 2, 3, 5, COUNT - 1, COUNT])
@pytest.mark.parametrize("forged", FORGERIES)
def test_a_forged_baseline_is_reported_and_not_served(forged: Any, number: Any) -> None:
    baseline = FORGERIES[forged](at(number))
    fault = rebuilt(baseline, after(number)).fault
    assert fault is not None
    assert fault.startswith("doc-1-")
    if forged in ("content", "record_hash", "deleted", "sequence"):
        for moment in (COUNT, number):
            with pytest.raises(HistoryCorrupt):
                version_at(moment, after(number), baseline)


def test_the_created_at_of_a_baseline_is_checked_against_the_document() -> None:
    """No record confirms it. The other members of the newest version are those of its record."""
    assert rebuilt(replace(at(COUNT - 1), created_at="forged")).fault is not None


@pytest.mark.parametrize("member", ["actor", "timestamp", "schema_id", "schema_version", "created_at"])
def test_every_member_of_the_newest_versions_own_baseline_is_checked_against_the_document(member: str) -> None:
    forged: dict[str, Any] = {member: "forged"}
    assert rebuilt(replace(at(COUNT), **forged)).fault is not None


def test_a_record_confirms_its_own_baseline() -> None:
    """Also if document and baseline agree on other content: the record binds the content."""
    forged, head = replace(at(COUNT), content={"forged": True}), replace(HEAD, content={"forged": True})
    assert rebuilt(forged, head=head).fault == f"doc-1-{COUNT:012d}: the baseline's content is not the record's"
    other = altered(LIFE.records[-1], content_hash=sha256_hex(canonical({"forged": True})))
    fault = rebuilt(forged, [other], head).fault
    assert fault == f"doc-1-{COUNT:012d}: the record is not that of the baseline"
    stranger = LIFE.records[-1] | {"doc_id": "doc-2"}
    assert rebuilt(at(COUNT), [stranger]).fault == f"doc-1-{COUNT:012d}: the record is another's"
    sealed = seal(LIFE.records[-1], PLACE, data_key=DataKey("key-1", bytes(32)), nonce=bytes(12))
    assert rebuilt(at(COUNT), [sealed]).fault == f"doc-1-{COUNT:012d}: its values do not open"


def test_a_record_confirms_its_own_baseline_once() -> None:
    fold = at(COUNT).fold()
    assert fold.take(LIFE.records[-1]).content == canonical(HEAD.content)
    with pytest.raises(BrokenChain, match="out of order"):
        fold.take(LIFE.records[-1])


def test_the_baseline_of_a_deletion_is_confirmed_by_its_record() -> None:
    found = rebuilt(at(4), LIFE.records[3:4], load(LIFE.versions[3]))
    assert (found.fault, [version.document for version in found.versions]) == (None, [None])
    assert rebuilt(at(4), LIFE.records[3:]).fault is None


def test_a_baseline_without_a_confirming_record_is_reported() -> None:
    assert rebuilt(at(COUNT), []).fault == f"doc-1-{COUNT:012d}: the record is missing"
    for number in (3, COUNT):
        with pytest.raises(HistoryCorrupt) as refusal:
            version_at(COUNT, [], at(number))
        assert refusal.value.details["change_id"] == f"doc-1-{number + 1:012d}"


def test_the_report_names_which_of_two_was_altered() -> None:
    baseline = replace(at(2), record_hash="f" * 64)
    assert rebuilt(baseline).fault == "doc-1-000000000002: the baseline was altered"
    records = [*LIFE.records[2:]]
    records[0] = records[0] | {"actor": "mallory", "previous_record_hash": "e" * 64}
    assert rebuilt(at(2), records).fault.startswith("doc-1-000000000003")


def test_a_time_before_it_is_not_found() -> None:
    baseline = at(2)
    for moment in (1, "2026-02-14T10:30:00.000000Z"):
        with pytest.raises(VersionNotFound, match="older than what is kept"):
            version_at(moment, LIFE.records[2:], baseline)
        with pytest.raises(HistoryCorrupt) as refusal:  # Earlier records exist: the wrong segment was read.
            version_at(moment, LIFE.records[2:], baseline, begins=1)
        assert refusal.value.details["change_id"] == "doc-1-000000000003"
    with pytest.raises(VersionNotFound, match="older than what is kept"):
        version_at(COUNT - 1, LIFE.records[COUNT - 1 :], at(COUNT))
    view = version_at("2026-02-14T11:30:00.000000Z", LIFE.records[2:], baseline)
    assert view.document == visible(load(LIFE.versions[1]))
