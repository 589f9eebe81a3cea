"""What may stand below `imports/`, and under which names."""

from datetime import UTC, datetime
from typing import Any

import pytest

from memnet.domain import baseline as baselines
from memnet.domain.archive import Source
from memnet.domain.attachment import Part, by_archive, carried, dated, fits, parse, run_name
from memnet.domain.audit import Fold, record_bytes
from memnet.domain.baseline import baseline_of
from memnet.domain.errors import ArchiveRefused, HistoryBroken
from memnet.domain.json_text import canonical, digest
from memnet.domain.sealing import DataKey
from tests.domain.samples import KEY, History, op

A, B, C = "a" * 64, "b" * 64, "c" * 64
ID = "00000000-0000-4000-8000-000000000001"
RUN = {
    "archive_sha256": A,
    "imported_at": "2026-02-14T20:00:00.000007Z",
    "principal": "ops",
    "source": {"tenant_id": "t1", "user_id": "u1"},
    "target": {"tenant_id": "t2", "user_id": "u2"},
}
RUN_NAME = f"runs/20260214T200000.000007Z-{ID}"


def history() -> tuple[dict[str, Any], bytes]:
    """A record, and the baseline of its change."""
    made = History()
    made.patch(op("add", "/content/n", value=1))
    version = Fold("doc-1").take(made.records[0])
    return made.records[0], baselines.dump(baseline_of(KEY, made.records[0], version, None))


RECORD, BASELINE = history()


@pytest.mark.parametrize(
    ("name", "part", "of"),
    [
        (f"{A}/manifest", Part.MANIFEST, A),
        (f"{A}/{RUN_NAME}", Part.RUNS, A),
        (f"{A}/audit/d-1.x-000000000001", Part.AUDIT, A),
        (f"{A}/baselines/d-1000000000000", Part.BASELINES, A),
        (f"{B}/earlier/{A}/manifest", Part.MANIFEST, A),
        (f"{B}/earlier/{A}/{RUN_NAME}", Part.RUNS, A),
        (f"{B}/earlier/{A}/audit/d-000000000001", Part.AUDIT, A),
    ],
)
def test_the_names_that_memnet_gives(name: str, part: Part, of: str) -> None:
    found = parse(name)
    assert found is not None
    assert (found.name, found.part, found.of, found.archive) == (name, part, of, name[:64])
    assert found.is_earlier is (of != name[:64])
    assert name.endswith(f"{of}/{found.rest}")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "manifest",
        f"{A}/manifest/x",
        f"{A}/manifest\n",
        f"{A.upper()}/manifest",
        f"{A[1:]}/manifest",
        f"{A}/other",
        f"{A}/runs/20260214T200000.000007Z-x",
        f"{A}/runs/20260214T200000Z-{ID}",
        f"{A}/runs/20261314T200000.000007Z-{ID}",
        f"{A}/{RUN_NAME}/x",
        f"{A}/audit/d-00000000001",
        f"{A}/audit/000000000001",
        f"{A}/audit/../../keys/d-000000000001",
        f"{A}/audit/-000000000001",
        f"{A}/earlier/manifest",
        f"{A}/earlier/{A}/manifest",
        f"{C}/earlier/{B}/earlier/{A}/manifest",
        f"{B}/Earlier/{A}/manifest",
    ],
)
def test_there_are_no_others(name: str) -> None:
    assert parse(name) is None


def test_a_run_s_name_says_when_it_was() -> None:
    found = parse(f"{A}/{run_name(datetime(2026, 2, 14, 20, 0, 0, 7, tzinfo=UTC), ID)}")
    assert found is not None
    assert (found.at, found.rest) == (RUN["imported_at"], RUN_NAME)


def stands(name: str, data: bytes) -> bool:
    found = parse(name)
    assert found is not None
    return fits(found, data)


def test_a_run_tells_of_its_archive_and_its_moment() -> None:
    for place in (A, f"{B}/earlier/{A}"):
        assert stands(f"{place}/{RUN_NAME}", canonical(RUN))
    wrong: list[dict[str, Any]] = [
        {"archive_sha256": B},
        {"imported_at": "2026-02-14T20:00:00.000008Z"},
        {"principal": 7},
        {"source": {"tenant_id": "t1"}},
        {"source": {"tenant_id": "t1", "user_id": "../u"}},
        {"target": {"tenant_id": "t1", "user_id": 1}},
        {"target": "u1"},
        {"more": 1},
    ]
    for members in wrong:
        assert not stands(f"{A}/{RUN_NAME}", canonical(RUN | members)), members
    for data in (b"", b"{}", b"[]", b"\xff", canonical(RUN) + b" "):
        assert not stands(f"{A}/{RUN_NAME}", data)


def manifest() -> bytes:
    empty = digest(b"")
    kinds = ["accesses", "conflicts", "events", "imports", "replays"]
    files = [{"name": f"{kind}.jsonl", "bytes": 0, "sha256": empty} for kind in kinds]
    return canonical(
        {
            "format": "memnet-export",
            "format_version": 2,
            "source": Source(tenant_id="t1", user_id="u1").model_dump(),
            "started_at": RUN["imported_at"],
            "finished_at": RUN["imported_at"],
            "actor": None,
            "documents": [],
            "changed_meanwhile": 0,
            "profiles": [],
            "schemas": [],
            "counts": dict.fromkeys(["documents", "records", *kinds], 0),
            "files": files,
            "files_sha256": digest(canonical(files)),
        }
    )


def test_a_manifest_is_the_one_that_names_the_archive() -> None:
    data = manifest()
    assert stands(f"{digest(data)}/manifest", data)
    assert stands(f"{B}/earlier/{digest(data)}/manifest", data)
    assert not stands(f"{B}/manifest", data)
    for other in (b"{}", data.replace(b"t1", b"t\\u0031")):
        assert not stands(f"{digest(other)}/manifest", other)


def test_an_old_record_is_the_open_one_of_its_name() -> None:
    name = f"{A}/audit/doc-1-000000000001"
    assert stands(name, record_bytes(RECORD))
    assert not stands(f"{A}/audit/doc-1-000000000002", record_bytes(RECORD))
    assert not stands(f"{A}/audit/doc-2-000000000001", record_bytes(RECORD))
    assert not stands(f"{A}/baselines/doc-1-000000000001", record_bytes(RECORD))
    wrong: list[dict[str, Any]] = [
        {"record_version": 1},
        {"timestamp": None},
        {"profile_id": 1},
        {"actor": None},
        {"doc_id": "doc-2"},
        {"sequence": 2},
        {"change_id": "x"},
        {"schema_id": []},
    ]
    for members in wrong:
        assert not stands(name, canonical(RECORD | members)), members
    for data in (b"", b"{}", b"[]", b"\xff", record_bytes(RECORD) + b"\n"):
        assert not stands(name, data)
    for member in ("timestamp", "profile_id", "tenant_id"):
        assert not stands(name, canonical({key: value for key, value in RECORD.items() if key != member})), member


def test_one_that_was_sealed_is_open_and_has_the_values_that_it_names() -> None:
    made = History(data_key=DataKey("key-1", bytes(32)))
    made.patch(op("add", "/content/n", value=1))
    name = f"{A}/audit/doc-1-000000000001"
    (record,), (stored,) = made.opened(), made.records
    assert stands(name, record_bytes(record))
    assert not stands(name, canonical(record | {"note": "another"}))
    assert not stands(name, record_bytes(stored))


def test_a_baseline_is_the_one_of_its_name() -> None:
    assert stands(f"{A}/baselines/doc-1-000000000001", BASELINE)
    for name in ("audit/doc-1-000000000001", "baselines/doc-1-000000000002", "baselines/doc-2-000000000001"):
        assert not stands(f"{A}/{name}", BASELINE)
    assert not stands(f"{A}/baselines/doc-1-000000000001", BASELINE + b" ")


def test_how_old_it_is_and_by_whose_rule_it_goes() -> None:
    for part, data in (("audit", record_bytes(RECORD)), ("baselines", BASELINE)):
        found = parse(f"{A}/{part}/doc-1-000000000001")
        assert found is not None
        assert dated(found, data).at == RECORD["timestamp"]
        for other in (b"", b"{}", b"null"):
            with pytest.raises(HistoryBroken):
                dated(found, other)
    found = parse(f"{A}/audit/doc-1-000000000001")
    assert found is not None
    assert dated(found, record_bytes(RECORD)).profile_id == RECORD["profile_id"]


def test_what_is_brought_along_lies_one_step_deep_however_often_it_was_before() -> None:
    for name in (f"{A}/{RUN_NAME}", f"{B}/earlier/{A}/{RUN_NAME}"):
        found = parse(name)
        assert found is not None
        assert carried(found, C) == f"{C}/earlier/{A}/{RUN_NAME}"
        assert parse(carried(found, C)) is not None


def test_no_archive_tells_of_its_own_import() -> None:
    for name in (f"{A}/manifest", f"{A}/earlier/{B}/manifest", f"{B}/earlier/{A}/manifest"):
        found = parse(name)
        assert found is not None
        with pytest.raises(ArchiveRefused):
            carried(found, A)


def test_what_was_imported_by_archive() -> None:
    names = [f"{A}/manifest", f"{B}/earlier/{A}/manifest", f"{B}/manifest", f"{A}/{RUN_NAME}"]
    found = by_archive(one for name in names if (one := parse(name)) is not None)
    assert {archive: {of: len(parts) for of, parts in told.items()} for archive, told in found.items()} == {
        A: {A: 2},
        B: {A: 1, B: 1},
    }
