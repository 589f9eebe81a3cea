"""Archives that agree with themselves, made up by somebody who knows how: what still gets in, and what never does."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from memnet.domain.archive import MANIFEST, audit_file, document_file
from memnet.domain.archive_import import Fate
from memnet.domain.audit import Fold, read_record, record_hash
from memnet.domain.audit_values import values_hash
from memnet.domain.document import UserScope
from memnet.domain.errors import VaultUnavailable
from memnet.domain.json_text import canonical, digest
from memnet.domain.record import RecordKey, RecordKind
from memnet.domain.sealing import is_sealed
from memnet.operations.open_attachment import open_attachment
from tests.memory_blobs import storage_of
from tests.operations.archive_world import (
    OPERATOR,
    OTHER,
    SCOPE,
    Files,
    exported,
    files,
    filled_world,
    forged,
    imported,
)
from tests.operations.replay_world import World
from tests.operations.test_verify_archive import STATIC, Change, refused, row_of


@pytest.fixture(scope="module")
def archive() -> bytes:
    """An archive of everything there can be."""

    async def make() -> bytes:
        return (await exported(await filled_world(3), reader=OPERATOR))[0]

    return asyncio.run(make())


def _whole_chain(contents: Files, manifest: Any, **members: Any) -> None:
    """Forge the first record of a document and all that follows from it: the archive then agrees with itself."""
    row = row_of(manifest, STATIC)
    (line,) = contents[audit_file(row["doc_id"])].splitlines()
    record = {**orjson.loads(line), **members}
    record["ops_hash"] = digest(canonical(record["ops"]))
    record["content_hash"] = digest(canonical(record["ops"][-1]["value"]))
    record["values_hash"] = values_hash(record)
    version = Fold(row["doc_id"]).take(record)
    found = read_record(canonical(record))
    assert found is not None
    row.update(record_hash=record_hash(found), etag=record["post_etag"])
    document = {
        "doc_id": row["doc_id"],
        "namespace": row["namespace"],
        "path": row["path"],
        "etag": record["post_etag"],
        "sequence": 1,
        "document": version.document,
    }
    contents[audit_file(row["doc_id"])] = canonical(record) + b"\n"
    contents[document_file(row["doc_id"])] = canonical(document) + b"\n"


def _put(content: Any) -> list[Any]:
    return [{"op": "add", "path": "/content", "value": content}]


async def test_a_whole_forgery_must_still_match_the_schema(archive: bytes) -> None:
    """Who forges everything gets in what a client could have written, and nothing else."""
    fine = {"profile": {}, "projects_index": []}
    good = forged(archive, lambda contents, manifest: _whole_chain(contents, manifest, ops=_put(fine)))
    assert (await imported(World(), good)).complete
    for content in ({"never": "declared"}, [], "text"):
        forgery = forged(archive, lambda contents, manifest, c=content: _whole_chain(contents, manifest, ops=_put(c)))  # type: ignore[misc]
        assert await refused(forgery) == "a document does not match its schema"


@pytest.mark.parametrize(
    "members",
    [{"post_etag": "a\r\nb"}, {"post_etag": 1}, {"schema_id": 7}, {"actor": []}, {"redirected": 1}, {"profile_id": {}}],
)
async def test_a_whole_forgery_of_other_types_is_refused(archive: bytes, members: dict[str, Any]) -> None:
    fine = {"profile": {}, "projects_index": []}
    assert await refused(
        forged(archive, lambda contents, manifest: _whole_chain(contents, manifest, ops=_put(fine), **members))
    )


def _entries(kind: str, change: Callable[[list[bytes]], list[bytes]]) -> Change:
    def apply(contents: Files, manifest: Any) -> None:
        lines = change(contents[f"{kind}.jsonl"].splitlines())
        contents[f"{kind}.jsonl"] = b"".join(line + b"\n" for line in lines)
        manifest["counts"][kind] = len(lines)

    return apply


KINDS = ["events", "snapshots", "replays", "conflicts", "accesses"]


@pytest.mark.parametrize("kind", KINDS)
async def test_an_entry_that_memnet_would_not_write_is_refused(archive: bytes, kind: str) -> None:
    def member(line: bytes, **members: Any) -> bytes:
        return canonical({**orjson.loads(line), **members})

    changes: list[Callable[[list[bytes]], list[bytes]]] = [
        lambda lines: [lines[-1], *lines],
        lambda lines: [b"{}"],
        lambda lines: [b"[]"],
        lambda lines: [b"not JSON"],
        lambda lines: [b""],
        lambda lines: [b"[" * 5000],
        lambda lines: [lines[0].replace(b":", b": ", 1)],
        lambda lines: [member(lines[0], more=1)],
    ]
    if kind != "accesses":
        changes.append(lambda lines: [member(lines[0], user_id="u2")])
    for change in changes:
        assert await refused(forged(archive, _entries(kind, change)))


@pytest.mark.parametrize("name", ["../../keys/data", "a/../b", "", 7, None, "x" * 200])
async def test_a_record_cannot_leave_its_folder(archive: bytes, name: Any) -> None:
    access = _entries("accesses", lambda lines: [canonical({**orjson.loads(lines[0]), "access_id": name})])
    assert "none of the user's accesses" in await refused(forged(archive, access))
    line = canonical({"name": name, "record": {}})
    assert "none of the user's imports" in await refused(forged(archive, _entries("imports", lambda lines: [line])))


async def test_a_count_that_is_not_so_is_refused(archive: bytes) -> None:
    for kind in [*KINDS, "records"]:
        wrong = forged(archive, lambda _, manifest, kind=kind: manifest["counts"].update({kind: 77}))  # type: ignore[misc]
        assert "counts another number" in await refused(wrong)


# What an archive brings along of earlier imports.

ELSEWHERE = "e" * 64
PLANTED = f"runs/20260101T000000.000000Z-{'0' * 36}"


def _run(archive: str, principal: str = "somebody innocent") -> dict[str, Any]:
    """The record of a run, as if this service had written it below OTHER."""
    return {
        "archive_sha256": archive,
        "imported_at": "2026-01-01T00:00:00.000000Z",
        "principal": principal,
        "source": {"tenant_id": "t1", "user_id": "u1"},
        "target": {"tenant_id": OTHER.tenant_id, "user_id": OTHER.user_id},
    }


def _planted(archive: bytes, *planted: tuple[str, Any]) -> bytes:
    lines = [canonical({"name": name, "record": record}) for name, record in sorted(planted)]
    return forged(archive, _entries("imports", lambda _: lines))


async def _runs(world: World, scope: UserScope) -> dict[str, str]:
    """Who imported what, by the names under which this service writes it down."""
    page = await world.records.list(scope, RecordKind.IMPORTS, limit=1000, cursor=None)
    found = {key.name: await world.records.read(key) for key in page.items if key.name[64:].startswith("/runs/")}
    return {name: orjson.loads(stored.data)["principal"] for name, stored in found.items() if stored is not None}


@pytest.mark.parametrize("target", [SCOPE, OTHER])
async def test_no_archive_forges_who_imported_what(archive: bytes, target: UserScope) -> None:
    """Neither of another import, nor of one that the archive says was brought along by another."""
    run = _run(ELSEWHERE)
    planted = [(f"{ELSEWHERE}/{PLANTED}", run), (f"{'f' * 64}/earlier/{ELSEWHERE}/{PLANTED}", run)]
    for line in planted:
        world, forgery = World(), _planted(archive, line)
        report = await imported(world, forgery, target)
        assert report.entries["imports", Fate.CREATED] == 1
        assert [*(await _runs(world, target)).values()] == [OPERATOR.principal]
        # It is kept as what the archive says.
        key = RecordKey(target, RecordKind.IMPORTS, f"{report.archive.sha256}/earlier/{ELSEWHERE}/{PLANTED}")
        stored = await world.records.read(key)
        assert stored is not None
        assert stored.data == canonical(run)
        again = await imported(world, forgery, target)
        assert again.entries["imports", Fate.THERE] == 1


def _old_records(archive: bytes) -> list[bytes]:
    return [line for name, data in files(archive).items() if name.startswith("audit/") for line in data.splitlines()]


async def test_no_archive_keeps_a_later_import_from_its_places(archive: bytes) -> None:
    """It plants something else where each record of the archive to come will be kept."""
    world, coming, planted = World(), digest(files(archive)[MANIFEST]), list[tuple[str, Any]]()
    for line in _old_records(archive):
        record = orjson.loads(line) | {"note": "planted"}
        record["values_hash"] = values_hash(record)
        planted.append((f"{coming}/audit/{record['change_id']}", record))
    empty, _ = await exported(World())
    first = await imported(world, _planted(empty, *planted), OTHER)
    assert first.entries["imports", Fate.CREATED] == len(planted)
    assert (await imported(world, archive, OTHER)).complete
    for line in _old_records(archive):
        key = RecordKey(OTHER, RecordKind.IMPORTS, f"{coming}/audit/{orjson.loads(line)['change_id']}")
        stored = await world.records.read(key)
        assert stored is not None
        assert await open_attachment(key, stored.data, vault=world.vault) == line


async def test_what_no_import_leaves_is_refused(archive: bytes) -> None:
    record = orjson.loads(_old_records(archive)[0])
    change, run = record["change_id"], _run(ELSEWHERE)
    manifest = orjson.loads(files(archive)[MANIFEST])
    for name, planted in [
        (ELSEWHERE, {}),
        (f"{ELSEWHERE}/anything", {}),
        (f"{ELSEWHERE}/manifest", {}),
        (f"{ELSEWHERE}/manifest", manifest),
        (f"{ELSEWHERE}/{PLANTED}", {}),
        (f"{ELSEWHERE}/{PLANTED}", run | {"archive_sha256": "f" * 64}),
        (f"{ELSEWHERE}/audit/{change}", {}),
        (f"{ELSEWHERE}/audit/{change}", record | {"note": "not what its hash names"}),
        (f"{ELSEWHERE}/audit/another-000000000001", record),
        (f"{ELSEWHERE}/baselines/{change}", record),
        (f"{ELSEWHERE}/earlier/{ELSEWHERE}/{PLANTED}", run),
        (f"{'f' * 64}/earlier/{'d' * 64}/earlier/{ELSEWHERE}/{PLANTED}", run),
    ]:
        assert "none of the user's imports" in await refused(_planted(archive, (name, planted))), name


async def test_two_lines_for_one_place_are_told_and_the_first_one_stays(archive: bytes) -> None:
    """One as of an earlier import, and another one as brought along by it."""
    planted = [
        (f"{ELSEWHERE}/{PLANTED}", _run(ELSEWHERE)),
        (f"{'f' * 64}/earlier/{ELSEWHERE}/{PLANTED}", _run(ELSEWHERE, "x")),
    ]
    report = await imported(World(), _planted(archive, *planted), OTHER)
    assert (report.entries["imports", Fate.CREATED], report.entries["imports", Fate.KEPT]) == (1, 1)
    assert not report.complete


async def test_what_was_sealed_takes_a_vault_if_it_is_only_brought_along(archive: bytes) -> None:
    record = orjson.loads(_old_records(archive)[0])
    empty, _ = await exported(World())
    forgery, world = _planted(empty, (f"{ELSEWHERE}/audit/{record['change_id']}", record)), World()
    with pytest.raises(VaultUnavailable):
        await imported(world, forgery, OTHER, vault=None)
    assert storage_of(world.records).names() == []
    await imported(world, forgery, OTHER)
    (name,) = [name for name in storage_of(world.records).names() if "/earlier/" in name]
    key = RecordKey(OTHER, RecordKind.IMPORTS, name.partition("/imports/")[2].removesuffix(".json"))
    stored = await world.records.read(key)
    assert stored is not None
    assert is_sealed(stored.data)
