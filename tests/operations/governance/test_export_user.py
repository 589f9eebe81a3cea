"""The contents of an archive, with and without concurrent writers."""

import io
import zipfile
from contextlib import suppress
from html import unescape
from typing import Any

import orjson
import pytest

from memnet.adapters.process.zip_archive import ZipArchiveWriter
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import (
    ErasureRunning,
    ETagMismatch,
    HistoryCorrupt,
    LimitExceeded,
    Unavailable,
    UserNotFound,
)
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.core.user_item import ItemKind
from memnet.domain.documents import envelope
from memnet.domain.documents.audit_record import record_hash
from memnet.domain.governance.archive import MANIFEST, MAX_DOCUMENTS, REPORT, document_file
from memnet.domain.governance.legal_hold import HoldTarget
from memnet.operations.documents.read import get_document
from memnet.operations.governance import export_user as module
from memnet.operations.governance.erasure_request import request_erasure
from memnet.operations.governance.export_user import ExportOptions, export_user
from memnet.operations.governance.legal_holds import place_hold
from tests.domain.event_samples import stored_event
from tests.domain.samples import CATALOG
from tests.operations.archive_scenario import (
    OPERATOR,
    PLACES,
    doc_id,
    exported,
    files,
    filled_world,
    imported,
    stored,
    watching,
)
from tests.operations.baseline_scenario import retain, retain_newest, split
from tests.operations.replay_scenario import ALPHA, DYNAMIC, MESSAGES, SCOPE, World, put
from tests.operations.retention_scenario import Between, FallsAt


async def test_it_contains_every_document_as_clients_see_it() -> None:
    world = await filled_world()
    archive, report = await exported(world)
    assert [f"{row.namespace}/{row.path}" for row in report.manifest.documents] == PLACES
    view = await get_document(ALPHA, world.service)
    found = orjson.loads(files(archive)[document_file(doc_id(archive, "projects/alpha.json"))])
    assert canonical(found["document"]) == view.document
    assert found["etag"] == view.etag
    deleted = orjson.loads(files(archive)[document_file(doc_id(archive, "projects/beta.json"))])
    assert (deleted["document"], deleted["sequence"]) == (None, 2)


async def test_it_contains_every_record_unsealed_from_audit_and_outbox() -> None:
    world = await filled_world()
    archive, report = await exported(world)
    lines = [line for name, data in files(archive).items() if name.startswith("audit/") for line in data.splitlines()]
    in_audit = {data for name, data in (await stored(world)).items() if name.startswith("audit/")}
    assert in_audit < set(lines)
    alpha = await world.documents.get(ALPHA)
    assert alpha is not None
    (waiting,) = set(lines) - in_audit
    sealed = envelope.load(alpha.data).commit.outbox[-1]
    assert record_hash(orjson.loads(waiting)) == record_hash(sealed)
    assert b"not flushed" in waiting
    assert not any(b'"sealed"' in line for line in lines)
    assert report.manifest.counts["records"] == len(lines)


async def test_the_manifest_names_the_user_and_hashes_every_file() -> None:
    world = await filled_world(3)
    archive, report = await exported(world)
    contents = files(archive)
    data = contents.pop(MANIFEST)
    reported = orjson.loads(data)
    assert (reported["format"], reported["format_version"]) == ("memnet-export", 2)
    assert reported["source"] == {"tenant_id": "t1", "user_id": "u1"}
    assert {file["name"]: file["sha256"] for file in reported["files"]} == {
        name: sha256_hex(content) for name, content in contents.items()
    }
    assert reported["files_sha256"] == sha256_hex(canonical(reported["files"]))
    assert report.sha256 == sha256_hex(data)
    assert {(s["schema_id"], s["sha256"]) for s in reported["schemas"]} == {
        (name, CATALOG.schema(name, "1.0.0").digest)
        for name in ("memory.project", "memory.user.dynamic", "memory.user.static")
    }
    (profile,) = reported["profiles"]
    assert profile["sha256"] == CATALOG.profile(profile["profile_id"]).sha256


async def test_two_exports_of_the_same_memory_differ_by_the_record_of_the_first_one_only() -> None:
    world = await filled_world(3)
    first, second = [files((await exported(world))[0]) for _ in range(2)]
    assert {name for name in first if first[name] != second[name]} == {"accesses.jsonl", REPORT, MANIFEST}
    before, after = (one["accesses.jsonl"].splitlines() for one in (first, second))
    assert (after[: len(before)], len(after)) == (before, len(before) + 1)


async def test_it_contains_no_data_of_other_users() -> None:
    world = await filled_world(3)
    stray = stored_event("e1", scope=UserScope("t1", "u10"), digest="somebody else's")
    await world.events.create(stray.key, stray.data)
    archive, _ = await exported(world)
    assert b"somebody else" not in archive
    assert (await exported(world, UserScope("t1", "u10")))[1].manifest.counts["events"] == 1


async def test_conversations_that_are_left_out_are_counted() -> None:
    world = await filled_world(3)
    archive, report = await exported(world)
    assert "snapshots.jsonl" not in files(archive)
    assert b"sealed" not in archive
    assert not any(text.encode() in archive for _, _, text in MESSAGES)
    assert (report.manifest.actor, report.manifest.left_out.conversations) == (OPERATOR.principal, 1)


async def test_each_exported_conversation_leaves_an_access_record() -> None:
    world = await filled_world(3)
    before = (await world.records.list(SCOPE, ItemKind.ACCESSES, limit=10, cursor=None)).items
    archive, report = await exported(world, reader=OPERATOR)
    after = (await world.records.list(SCOPE, ItemKind.ACCESSES, limit=10, cursor=None)).items
    assert len(after) == len(before) + 2
    stored = await world.records.read(after[-1])
    assert stored is not None
    assert orjson.loads(stored.data)["operation"] == "read_snapshot"
    assert orjson.loads(stored.data)["principal"] == OPERATOR.principal
    assert stored.data in files(archive)["accesses.jsonl"].splitlines()
    assert all(text.encode() in files(archive)["snapshots.jsonl"] for _, _, text in MESSAGES)
    assert report.manifest.left_out.conversations is None


async def test_the_export_is_recorded_before_anything_is_read() -> None:
    world = await filled_world(1)
    calls: list[str] = []

    async def note(name: str, call: Any) -> Any:
        calls.append(name)
        return await call()

    options = ExportOptions(OPERATOR, "case 7", include_conversations=False)
    with zipfile.ZipFile(io.BytesIO(), "w") as archive:
        await export_user(SCOPE, watching(world, note), options, archive=ZipArchiveWriter(archive))
    assert calls[0] == "records.write"
    *_, last = (await world.records.list(SCOPE, ItemKind.ACCESSES, limit=10, cursor=None)).items
    stored = await world.records.read(last)
    assert stored is not None
    record = orjson.loads(stored.data)
    assert (record["operation"], record["principal"], record["reason"]) == ("export_user", OPERATOR.principal, "case 7")
    assert record["include_conversations"] is False


async def test_the_report_says_what_is_known_since_when_by_whom_and_from_where() -> None:
    world = await filled_world(1)
    archive, _ = await exported(world, reader=OPERATOR)
    text = unescape(files(archive)[REPORT].decode())
    deadline = text[text.index("The deadline is Friday") :]
    assert "by memnet-worker. Said in conversation c1, m3. Confidence 0.75." in deadline[: deadline.index("</li>")]
    for part in (
        "<h3>Preferences ",
        "The user spoke about alpha's deadline.",
        "ops@example.com exported the memory.",
        'changed Preferences to: "Prefers answer 0"',
        "deleted the document",
        *(said for _, _, said in MESSAGES),
    ):
        assert part in text, part
    await place_hold(HoldTarget("t1"), "case 7, secret", world.service, actor=OPERATOR)
    archive, _ = await exported(world)
    text = files(archive)[REPORT].decode()
    assert "nothing about all users of the tenant is deleted" in text
    assert "secret" not in text
    assert "1 conversation is NOT in it." in text
    assert not any(said in unescape(text) for _, _, said in MESSAGES)


async def test_the_report_of_a_shortened_history_begins_with_the_baseline() -> None:
    world = await filled_world(20)
    await world.background.drain()
    for first in (11, 16):
        await split(world, DYNAMIC, first)
    await retain(world, DYNAMIC, 10)
    text = files((await exported(world))[0])[REPORT].decode()
    assert "Prefers answer 19" in text
    assert "Prefers answer 3&" not in text
    await retain_newest(world, DYNAMIC)
    shortened = files((await exported(world))[0])[REPORT].decode()
    written = [line for line in text.splitlines() if "Written " in line]
    assert written
    # The baseline keeps who wrote what is still there.
    assert [line for line in shortened.splitlines() if "Written " in line] == written


async def test_an_unknown_user_is_refused_and_nothing_is_recorded() -> None:
    world, unknown = await filled_world(1), UserScope("t1", "u99")
    with zipfile.ZipFile(io.BytesIO(), "w") as archive:
        with pytest.raises(UserNotFound):
            await export_user(unknown, world.service, ExportOptions(OPERATOR), archive=ZipArchiveWriter(archive))
        empty = ExportOptions(OPERATOR, allow_empty=True)
        report = await export_user(unknown, world.service, empty, archive=ZipArchiveWriter(archive))
    assert set(report.manifest.counts.values()) == {0}
    assert (await world.records.list(unknown, ItemKind.ACCESSES, limit=10, cursor=None)).items == []


@pytest.mark.parametrize("read", ["documents.get", "audit.read", "events.get", "records.read"])
async def test_an_erasure_during_an_export_ends_it(read: str) -> None:
    world = await filled_world(1)

    async def erase() -> None:
        await request_erasure(SCOPE, world.service, idempotency_key="k", actor=OPERATOR)

    with pytest.raises(ErasureRunning):
        await exported(world, reader=OPERATOR, watch=Between(read, erase))


async def test_with_a_concurrent_writer_every_document_is_one_version() -> None:
    world = await filled_world(3)
    writes = 0

    async def write(name: str, call: Any) -> Any:
        nonlocal writes
        if name.startswith(("audit", "events")) and writes < 40:
            writes += 1
            with suppress(ETagMismatch):
                await world.live(DYNAMIC, put("/preferences/0", f"written meanwhile {writes}"))
        return await call()

    archive, report = await exported(world, watch=write)
    assert writes > 3
    assert report.manifest.changed_meanwhile == 1
    # An import verifies every chain, and each document against its own.
    copy = World()
    reported = await imported(copy, archive)
    assert reported.complete
    assert (await copy.content(DYNAMIC))["preferences"] != (await world.content(DYNAMIC))["preferences"]


async def test_a_document_created_meanwhile_is_counted() -> None:
    world = World()
    _, report = await exported(world, watch=Between("events.list_of_user", world.create_project))
    assert (report.manifest.counts["documents"], report.manifest.changed_meanwhile) == (0, 2)


async def test_a_corrupt_history_is_not_exported() -> None:
    world = await filled_world(3)
    stored = await world.documents.get(DYNAMIC)
    assert stored is not None
    current = envelope.load(stored.data)
    await world.audit.delete(SCOPE, current.doc_id, 1)
    with pytest.raises(HistoryCorrupt) as caught:
        await exported(world)
    assert caught.value.details["change_id"] == current.change_id(1)


@pytest.mark.parametrize("after", ["audit.history", "audit.read_baseline", "documents.get"])
async def test_retention_during_an_export_makes_it_unavailable(after: str) -> None:
    world = await filled_world()
    await world.background.drain()
    await retain(world, ALPHA, 1)
    done = False

    async def retaining(name: str, call: Any) -> Any:
        nonlocal done
        found = await call()
        if name == after and not done:
            done = True
            await world.live(ALPHA, put("/summary", "newer"))
            await world.background.drain()
            stored = await world.documents.get(ALPHA)
            assert stored is not None
            last = envelope.load(stored.data).commit.sequence
            # Of the version that the export has read, either the oldest records or all are gone.
            await retain(world, ALPHA, 2 if after.startswith("audit.") else last - 1)
        return found

    with pytest.raises(Unavailable):
        await exported(world, watch=retaining)
    await exported(world)


async def test_a_history_is_read_segment_by_segment() -> None:
    world = await filled_world(20)
    await world.background.drain()
    for first in (11, 16):
        await split(world, DYNAMIC, first)
    watch = FallsAt(0, applied=False)
    archive, report = await exported(world, watch=watch)
    assert report.manifest.counts["records"] == sum(name.startswith("audit/") for name in await stored(world)) + 1
    # The three of this document, and one of each that has more records than its outbox.
    assert watch.calls.count("audit.read") == 3 + 2
    assert watch.calls.count("audit.history") == len(PLACES)
    await imported(World(), archive)


async def test_a_shortened_history_begins_with_its_baseline() -> None:
    world = await filled_world(20)
    await world.background.drain()
    for first in (11, 16):
        await split(world, DYNAMIC, first)
    await retain(world, DYNAMIC, 10)
    archive, _ = await exported(world)
    lines = files(archive)[f"audit/{doc_id(archive, 'user/user_dynamic.json')}.jsonl"].splitlines()
    assert [orjson.loads(line)["sequence"] for line in lines] == list(range(10, 22))
    assert ["baseline_version" in orjson.loads(line) for line in lines] == [True] + [False] * 11


async def test_a_history_of_the_newest_record_begins_with_its_own_baseline() -> None:
    world = await filled_world(20)
    await world.background.drain()
    await retain_newest(world, DYNAMIC)
    archive, _ = await exported(world)
    lines = files(archive)[f"audit/{doc_id(archive, 'user/user_dynamic.json')}.jsonl"].splitlines()
    found = [orjson.loads(line) for line in lines]
    assert [(one["sequence"], "baseline_version" in one) for one in found] == [(21, True), (21, False)]


async def test_without_the_baseline_that_it_begins_with_a_history_is_not_exported() -> None:
    world = await filled_world(20)
    await world.background.drain()
    await retain(world, DYNAMIC, 10)
    for doc, history in (await world.audit.histories(SCOPE)).items():
        if history.begins == 11:
            await world.audit.delete(SCOPE, doc, 11, baseline=True)
    with pytest.raises(HistoryCorrupt):
        await exported(world)


async def test_more_documents_than_an_import_accepts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_DOCUMENTS > 1000
    monkeypatch.setattr(module, "MAX_DOCUMENTS", 3)
    with pytest.raises(LimitExceeded):
        await exported(await filled_world(1))


async def test_two_documents_with_one_id_are_refused() -> None:
    world = await filled_world(1)
    stored = await world.documents.get(ALPHA)
    assert stored is not None
    summary = envelope.summarise(envelope.load(stored.data))
    await world.documents.put(DocumentKey(SCOPE, "projects", "zeta.json"), stored.data, summary, replaces=None)
    with pytest.raises(HistoryCorrupt) as caught:
        await exported(world)
    assert caught.value.details["reason"] == "two documents have one id"
