"""The checks of an archive that need no reading of its files, and the chain of one document."""

from dataclasses import replace
from typing import Any

import pytest

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import ArchiveInvalid
from memnet.domain.core.scope import UserScope
from memnet.domain.documents.audit_record import BrokenChain, record_bytes
from memnet.domain.documents.audit_segments import START
from memnet.domain.documents.envelope import dump, load
from memnet.domain.governance.archive import ArchiveMember, EntryKind, audit_file, check_members, document_file, refuse
from memnet.domain.governance.archive_chain import Chain, Texts, is_valid
from memnet.domain.governance.archive_entry import read_entry
from memnet.domain.history import baseline as baselines
from memnet.domain.history.baseline_values import BaselineLocation, seal
from memnet.domain.sealing.sealing import DataKey
from tests.domain.rebuilding import baseline_after
from tests.domain.samples import CATALOG, KEY, LENIENT, SCOPE, History, op


def history(changes: int = 5, *, deleted: bool = False) -> History:
    """Return the history of a document, with a deletion if asked."""
    made = History()
    for number in range(changes):
        made.patch(op("add", "/content/n", value=number))
        if deleted and number == 1:
            made.delete()
    return made


def test_the_files_of_a_document_are_named_by_its_id() -> None:
    assert (document_file("d-1"), audit_file("d-1")) == ("documents/d-1.json", "audit/d-1.jsonl")


def test_a_directory_has_one_manifest_and_no_duplicates() -> None:
    manifest = ArchiveMember("manifest.json", 10)
    check_members([manifest, ArchiveMember("x", 0)])
    for members in ([], [ArchiveMember("x", 0)], [manifest, manifest], [ArchiveMember("manifest.json", 1 << 40)]):
        with pytest.raises(ArchiveInvalid):
            check_members(members)


def test_a_name_from_an_archive_is_shown_without_control_characters() -> None:
    with pytest.raises(ArchiveInvalid) as caught:
        refuse("why", "\x1b[2J" + "x" * 1000)
    shown = caught.value.details["member"]
    assert (shown.isprintable(), shown.startswith("\\x1b"), len(shown) < 200) == (True, True, True)


@pytest.mark.parametrize("deleted", [False, True])
def test_a_chain_rebuilds_the_blob_with_its_newest_record(deleted: bool) -> None:
    made = history(deleted=deleted)
    chain = Chain(KEY, "doc-1")
    for record, version in zip(made.records, made.versions, strict=True):
        assert chain.read(record_bytes(record)) == record
        current = load(version)
        (newest,) = current.commit.outbox
        assert dump(chain.envelope(newest, current.commit.position)) == version
    assert chain.records == len(made.records)


def test_a_chain_from_a_baseline_differs_only_in_older_requests() -> None:
    made = history()
    baseline = baseline_after(made.records, 3, None)
    chain, whole = Chain(KEY, "doc-1"), Chain(KEY, "doc-1")
    for record in made.records:
        whole.read(record_bytes(record))
    assert chain.read(baselines.dump(baseline)) == baseline
    assert chain.document()
    for record in made.records[3:]:
        chain.read(record_bytes(record))
    assert chain.document() == whole.document()
    assert chain.row() == whole.row()
    assert chain.envelope({}, START).commit.receipts == whole.envelope({}, START).commit.receipts[3:]


@pytest.mark.parametrize("deleted", [False, True])
def test_a_chain_from_the_newest_records_own_baseline_ends_at_the_same_version(deleted: bool) -> None:
    made = history(2, deleted=deleted)
    whole, chain = Chain(KEY, "doc-1"), Chain(KEY, "doc-1")
    for record in made.records:
        whole.read(record_bytes(record))
    chain.read(baselines.dump(baseline_after(made.records, len(made.records), None)))
    with pytest.raises(BrokenChain, match="the record is missing"):
        chain.row()
    chain.read(record_bytes(made.records[-1]))
    assert (chain.document(), chain.records) == (whole.document(), 2)
    assert chain.envelope({}, START).commit.receipts == whole.envelope({}, START).commit.receipts[-1:]
    with pytest.raises(BrokenChain, match="out of order"):
        chain.read(record_bytes(made.records[-1]))


def test_a_baseline_must_come_first_and_be_of_the_document() -> None:
    made = history()
    baseline = baselines.dump(baseline_after(made.records, 3, None))
    chain = Chain(KEY, "doc-1")
    chain.read(record_bytes(made.records[0]))
    with pytest.raises(BrokenChain):
        chain.read(baseline)
    with pytest.raises(BrokenChain, match="another document"):
        Chain(KEY, "doc-2").read(baseline)
    for sequence in (0, -1):
        with pytest.raises(BrokenChain, match="no sequence"):
            Chain(KEY, "doc-1").begin(replace(baseline_after(made.records, 3, None), sequence=sequence))
    following = Chain(KEY, "doc-1")
    following.read(baseline)
    with pytest.raises(BrokenChain):
        following.read(record_bytes(made.records[4]))


def test_a_sealed_baseline_is_refused() -> None:
    made = history()
    baseline = baseline_after(made.records, 1, None)
    place, data_key = BaselineLocation(KEY.scope, baseline.change_id), DataKey("key-1", bytes(32))
    sealed = seal(baseline, place, data_key=data_key, salt=bytes(32), nonce=bytes(12))
    with pytest.raises(BrokenChain, match="do not open"):
        Chain(KEY, "doc-1").read(baselines.dump(sealed))


def test_a_version_with_two_texts_is_refused() -> None:
    record = history(1).records[0]
    first = Chain(KEY, "doc-1")
    first.read(record_bytes(record))
    Chain(KEY, "doc-1", first.profiles, first.schemas).read(record_bytes(record))
    ((profile, _),), ((schema, _),) = first.profiles.items(), first.schemas.items()
    others: list[tuple[Texts, Texts]] = [({profile: "0" * 64}, {}), ({}, {schema: "0" * 64})]
    for profiles, schemas in others:
        with pytest.raises(BrokenChain, match="two texts"):
            Chain(KEY, "doc-1", profiles, schemas).read(record_bytes(record))


def test_a_chain_without_a_record_is_refused() -> None:
    with pytest.raises(BrokenChain, match="missing"):
        Chain(KEY, "doc-1").row()


def test_invalid_content_is_detected() -> None:
    deep: Any = {}
    for _ in range(70):
        deep = {"d": deep}
    assert is_valid({"n": 1}, LENIENT.schema)
    assert not is_valid(deep, LENIENT.schema)
    assert not is_valid([], LENIENT.schema)
    assert not is_valid({}, CATALOG.schema("memory.project", "1.0.0"))


@pytest.mark.parametrize("kind", EntryKind)
@pytest.mark.parametrize("line", [b"", b"null", b"1", b"{}", b"[]", b"\xff", b'{"a":1,"a":2}', b"[" * 100_000])
def test_other_lines_are_refused(kind: EntryKind, line: bytes) -> None:
    with pytest.raises(ArchiveInvalid) as caught:
        read_entry(kind, SCOPE, line)
    assert caught.value.details["member"] == kind.file


def test_an_event_of_another_user_is_refused() -> None:
    line = canonical(
        {
            "tenant_id": "t1",
            "user_id": "u1",
            "event_id": "e",
            "service_id": "s",
            "source_type": "x",
            "timestamp": "2026-01-01T00:00:00.000000Z",
            "digest": "d",
            "keywords": [],
            "entities": [],
            "project_ids": [],
        }
    )
    assert read_entry(EntryKind.EVENTS, UserScope("t1", "u1"), line)
    with pytest.raises(ArchiveInvalid):
        read_entry(EntryKind.EVENTS, UserScope("t1", "u2"), line)


def test_a_baseline_whose_origins_are_not_those_of_its_content_is_refused() -> None:
    made = history()
    baseline = baseline_after(made.records, 3, None)
    for origins in (None, {}, {**baseline.origins, "tree": 99}, {**baseline.origins, "traces": []}):
        with pytest.raises(BrokenChain, match="origins"):
            Chain(KEY, "doc-1").read(baselines.dump(replace(baseline, origins=origins)))
