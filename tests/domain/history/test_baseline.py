"""A baseline replaces all records up to its own, and a forged one is reported."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import HistoryCorrupt, VersionNotFound
from memnet.domain.core.scope import DocumentKey, ETag
from memnet.domain.documents.audit_record import Fold
from memnet.domain.documents.envelope import load, visible
from memnet.domain.history import baseline as baselines
from memnet.domain.history import reconstruction
from memnet.domain.history.baseline import Baseline, baseline_of
from tests.domain.rebuilding import fault_of_covered, rebuild
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


def at(number: int) -> Baseline:
    fold = Fold("doc-1")
    for record in LIFE.records[:number]:
        version = fold.take(record)
    return baseline_of(KEY, record, version, "p")


def after(number: int) -> Any:
    """The records that are kept behind a baseline: those after it, or its own, which is the newest."""
    return LIFE.records[min(number, COUNT - 1) :]


def rebuilt(baseline: Baseline, records: Any = None, head: Any = HEAD) -> Any:
    return rebuild("doc-1", KEY, after(baseline.sequence) if records is None else records, head, baseline)


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
        if name != "content" or number == 4:
            assert baselines.load(canonical({key: value for key, value in members.items() if key != name})) is None
        assert baselines.load(canonical({**members, name: ["x"]})) is None or name == "content"
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


@pytest.mark.parametrize("number", [1, 2, 3, 5, COUNT])
@pytest.mark.parametrize("forged", FORGERIES)
def test_a_forged_baseline_is_reported_and_not_served(forged: Any, number: Any) -> None:
    baseline = FORGERIES[forged](at(number))
    fault = rebuilt(baseline, after(number)).fault
    assert fault is not None
    assert fault.startswith("doc-1-")
    if forged in ("content", "record_hash", "deleted", "sequence"):
        for moment, last in ((COUNT, COUNT), (number, number + 1)):
            with pytest.raises((HistoryCorrupt, VersionNotFound)):
                reconstruction.version_at(moment, HEAD, LIFE.records[min(number, COUNT - 1) : last], baseline)


@pytest.mark.parametrize("member", ["actor", "timestamp", "schema_id", "schema_version", "created_at"])
def test_every_member_of_a_baseline_of_the_newest_version_is_checked_against_the_document(member: str) -> None:
    forged: dict[str, Any] = {member: "forged"}
    assert rebuilt(replace(at(COUNT), **forged)).fault is not None


def test_a_baseline_without_a_confirming_record_is_reported() -> None:
    assert rebuilt(at(COUNT), []).fault == f"doc-1-{COUNT:012d}: the record is missing"
    with pytest.raises(HistoryCorrupt):
        reconstruction.version_at(COUNT, HEAD, [], at(COUNT))


def test_content_that_was_made_up_with_the_key_is_held_against_the_baselines_own_record() -> None:
    """Also where document, baseline and their hashes agree: the record binds the content, and a head the record."""
    forged = replace(at(COUNT), content={"forged": True})
    fault = rebuilt(forged, head=replace(HEAD, content={"forged": True})).fault
    assert fault == f"doc-1-{COUNT:012d}: the baseline's content is not the record's"
    altered_one = altered(LIFE.records[-1], content_hash=sha256_hex(canonical({"forged": True})))
    fault = rebuilt(forged, [altered_one], replace(HEAD, content={"forged": True})).fault
    assert fault == f"doc-1-{COUNT:012d}: the record is not that of the baseline"


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
            reconstruction.version_at(moment, HEAD, LIFE.records[2:], baseline)
    view = reconstruction.version_at("2026-02-14T11:30:00.000000Z", HEAD, LIFE.records[2:], baseline)
    assert view.document == visible(load(LIFE.versions[1]))


def covered(*numbers: int) -> Any:
    return {record["change_id"]: record for record in LIFE.records if record["sequence"] in numbers}


@pytest.mark.parametrize("left", [(), (1,), (3,), (1, 2, 3), (1, 3), (2, 3)])
def test_what_is_not_removed_yet_does_no_harm(left: Any) -> None:
    assert fault_of_covered(covered(*left), at(3)) is None


def test_what_is_not_removed_yet_must_hold_too() -> None:
    first, second, third = (covered(number).popitem() for number in (1, 2, 3))
    altered = {first[0]: first[1] | {"actor": "mallory"}, second[0]: second[1]}
    for records, faulty in (
        (altered, first),
        ({third[0]: third[1] | {"actor": "mallory"}}, third),
        ({second[0]: {}}, second),
        ({second[0]: first[1]}, second),
    ):
        assert str(fault_of_covered(records, at(3))).startswith(faulty[0])


@pytest.mark.parametrize(
    "name", ["doc-1-000000000004", "doc-1-000000000000", "doc-1-3", "doc-1-zzz", "doc-11-000000000001"]
)
def test_what_a_baseline_does_not_stand_for(name: str) -> None:
    assert [change for change in (name, *covered(1, 3)) if reconstruction.is_covered(change, at(3))] == list(
        covered(1, 3)
    )
