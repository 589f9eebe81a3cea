"""Restoring one document: records first, the document last; and importing entries."""

import io
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import orjson
import pytest

from memnet.adapters.process.zip_archive import ZipArchiveReader
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import ArchiveInvalid, HistoryCorrupt, Unavailable
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.documents.audit_record import record_hash
from memnet.domain.documents.audit_segments import batches
from memnet.domain.documents.audit_values import AuditRecordLocation, seal
from memnet.domain.documents.envelope import Position
from memnet.domain.governance.archive import ArchivedDocument, EntryKind
from memnet.domain.governance.archive_entry import Entry, StoredItem, read_entry
from memnet.domain.governance.archive_import import ImportOutcome
from memnet.domain.replay import replay as replays
from memnet.domain.replay.snapshot import Snapshot
from memnet.domain.sealing.data_keys import data_keys_key
from memnet.operations.documents.outbox import sweep_user
from memnet.operations.governance.import_user import import_entry, restore_document, verify_archive
from memnet.operations.history.verify_history import rebuild_documents
from memnet.ports import StoreConflict
from memnet.stores import KeyRing, read_baseline
from tests.domain.event_samples import stored_event
from tests.domain.samples import CATALOG
from tests.memory_blobs import storage_of
from tests.operations.archive_scenario import OPERATOR, exported, files, filled_world, forged, marked
from tests.operations.baseline_scenario import retain_newest
from tests.operations.replay_scenario import DYNAMIC, SCOPE, Watch, Watched, World, put, unwatched
from tests.operations.retention_scenario import Between, FallsAt, StopsAt, storage_watched
from tests.services import arguments, service_of


async def restored(
    world: World, archive: bytes, *, watch: Watch = unwatched, dry_run: bool = False, read: bytes | None = None
) -> ImportOutcome:
    """Restore the dynamic document; `read` is what the archive has become since it was verified."""
    verified = await verify_archive(ZipArchiveReader(io.BytesIO(archive)), catalog=CATALOG)
    row: ArchivedDocument = next(row for row in verified.manifest.documents if row.path == DYNAMIC.path)
    return await restore_document(
        row,
        service_of(documents=Watched("documents", world.documents, watch), audit=Watched("audit", world.audit, watch)),
        archive=ZipArchiveReader(io.BytesIO(read or archive)),
        verified=verified,
        dry_run=dry_run,
    )


async def test_the_document_is_written_after_all_its_records() -> None:
    archive, copy = (await exported(await filled_world(20)))[0], World()
    watch = FallsAt(0, applied=False)
    assert await restored(copy, archive, watch=watch) is ImportOutcome.CREATED
    assert watch.calls == ["documents.get", "audit.history", "audit.append", "documents.put", "documents.check"]
    assert storage_of(copy.records).names(f"{SCOPE.prefix}keys/") == [data_keys_key(SCOPE).blob_name]


@pytest.mark.parametrize("applied", [True, False])
async def test_a_write_that_was_reported_as_refused_is_found_or_unavailable(applied: bool) -> None:
    archive, copy = (await exported(await filled_world(2)))[0], World()
    put = FallsAt(0, applied=applied, error=StoreConflict)
    await restored(World(), archive, watch=put)
    watch = FallsAt(put.calls.index("documents.put") + 1, applied=applied, error=StoreConflict)
    if applied:
        assert await restored(copy, archive, watch=watch) is ImportOutcome.THERE
    else:
        with pytest.raises(Unavailable):
            await restored(copy, archive, watch=watch)


async def test_without_the_following_record_the_document_is_kept() -> None:
    world = await filled_world(2)
    archive, _ = await exported(world)
    assert await restored(world, archive) is ImportOutcome.THERE
    for number in range(2):
        await world.live(DYNAMIC, put("/preferences/0", f"went on {number}"))
    assert await restored(world, archive) is ImportOutcome.THERE
    following = (await world.history(DYNAMIC))[3]
    await world.audit.delete(SCOPE, following["doc_id"], 1)
    assert await restored(world, archive) is ImportOutcome.KEPT


async def test_an_archive_changed_since_its_verification_creates_no_document() -> None:
    archive, copy = (await exported(await filled_world(2)))[0], World()

    def fewer(contents: Any, manifest: Any) -> None:
        name = next(f"audit/{row['doc_id']}.jsonl" for row in manifest["documents"] if row["path"] == DYNAMIC.path)
        contents[name] = b"".join(line + b"\n" for line in contents[name].splitlines()[:-1])

    with pytest.raises(ArchiveInvalid):
        await restored(copy, archive, read=forged(archive, fewer))
    assert await copy.documents.get(DYNAMIC) is None


def elsewhere() -> World:
    """A world that makes other keys."""
    world = World()
    world.ids.secret(1)
    world.ids.new()
    return world


async def test_records_are_sealed_with_the_current_key() -> None:
    world, copy = await filled_world(2), elsewhere()
    archive, _ = await exported(world)
    assert await restored(copy, archive) is ImportOutcome.CREATED
    ours, theirs = await sealed_records(world), await sealed_records(copy)
    assert ours.keys() == theirs.keys()
    for change_id, record in theirs.items():
        assert record_hash(record) == record_hash(ours[change_id])
        assert record["sealed"]["key_id"] != ours[change_id]["sealed"]["key_id"]
    assert len(await copy.history(DYNAMIC)) == len(theirs)


async def test_a_record_sealed_by_an_interrupted_call_is_the_same_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever has been appended stays, and the rest follows at the stored length."""
    monkeypatch.setattr("memnet.stores.segment_writer.APPEND_BYTES", 5_000)
    archive = (await exported(await filled_world(20)))[0]
    watch = FallsAt(0, applied=False)
    await restored(World(), archive, watch=watch)
    appends = [number for number, name in enumerate(watch.calls, start=1) if name == "audit.append"]
    assert len(appends) > 3
    for number in (*appends[1:], watch.calls.index("documents.put") + 1):
        copy = World()
        with pytest.raises(StopsAt):
            await restored(copy, archive, watch=FallsAt(number, applied=False))
        before = await sealed_records(copy)
        assert before
        # The ids differ from those of the first call, so a ciphertext would differ, too.
        copy.ids.secret(7)
        assert await restored(copy, archive) is ImportOutcome.CREATED
        after = await sealed_records(copy)
        assert {name: after[name] for name in before} == before
        assert len(after) == 21
        assert len(await copy.history(DYNAMIC)) == 21


@pytest.mark.parametrize("sealed", [True, False])
async def test_another_record_with_its_name_stops_the_import(sealed: bool) -> None:
    world, copy = await filled_world(2), World()
    archive, _ = await exported(world)
    record = (await world.history(DYNAMIC))[0]
    other = {**record, "actor": "svc-mallory"}
    if sealed:
        data_key = await KeyRing(copy.vault).get_or_create(SCOPE)
        other = seal(other, AuditRecordLocation(SCOPE, record["change_id"]), data_key=data_key, nonce=bytes(12))
    await append(copy, other)
    with pytest.raises(HistoryCorrupt):
        await restored(copy, archive)
    assert await copy.documents.get(DYNAMIC) is None


async def append(world: World, *records: Any) -> None:
    for batch in batches(Position(records[0]["sequence"], 0), records):
        await world.audit.append(SCOPE, records[0]["doc_id"], batch)


@pytest.mark.parametrize("first", [1, 4])
async def test_later_records_of_a_lost_document_stop_the_import(first: int) -> None:
    """They are no part of the archived history, and a later write would meet them."""
    world, copy = await filled_world(2), World()
    archive, _ = await exported(world)
    await world.live(DYNAMIC, put("/preferences/0", "after the export"))
    records = await world.history(DYNAMIC)
    data_key = await KeyRing(copy.vault).get_or_create(SCOPE)
    sealed = [
        seal(one, AuditRecordLocation(SCOPE, one["change_id"]), data_key=data_key, nonce=bytes(12)) for one in records
    ]
    await append(copy, *sealed[first - 1 :])
    with pytest.raises(HistoryCorrupt):
        await restored(copy, archive)
    assert await copy.documents.get(DYNAMIC) is None


async def test_a_segment_that_another_import_writes_makes_it_unavailable() -> None:
    archive, copy = (await exported(await filled_world(2)))[0], World()

    async def other() -> None:
        copy.ids.secret(7)
        assert await restored(copy, archive) is ImportOutcome.CREATED

    with pytest.raises(Unavailable):
        await restored(copy, archive, watch=Between("audit.append", other))
    assert await restored(copy, archive) is ImportOutcome.THERE
    assert len(await copy.history(DYNAMIC)) == 3


async def long_world(changes: int, *ends: int) -> World:
    """A document with so many changes; after each of `ends` a month passes."""
    world = World()
    for number in range(1, changes + 1):
        await world.live(DYNAMIC, put("/preferences", [f"{number}"]))
        if number in ends:
            world.clock.advance(timedelta(days=31))
    await world.background.drain()
    return world


async def rebuilt(world: World) -> int:
    """Sweep, verify the history, and return how many versions it has."""
    await sweep_user(SCOPE, world.service)
    (found,) = await rebuild_documents(SCOPE, world.service)
    assert found.fault is None
    return found.changes


async def test_a_history_of_many_segments_is_restored_with_its_segments() -> None:
    world, copy = await long_world(300, 11, 291), World()
    archive, _ = await exported(world)
    assert await restored(copy, archive) is ImportOutcome.CREATED
    (ours,), (theirs,) = [(await one.audit.histories(SCOPE)).values() for one in (world, copy)]
    assert dict(ours.segments) == dict(theirs.segments)
    assert list(ours.segments) == [1, 12, 268, 292]
    # The baselines are derived in the background.
    assert theirs.baselines == frozenset()
    assert await rebuilt(copy) == 300
    (theirs,) = (await copy.audit.histories(SCOPE)).values()
    assert theirs.baselines == ours.baselines
    copy.writes = 1_000
    await copy.live(DYNAMIC, put("/preferences", ["after the import"]))
    assert await rebuilt(copy) == 301


async def test_a_history_of_the_newest_record_is_restored_with_its_own_baseline() -> None:
    world, copy = await long_world(20, 19), World()
    baseline = await retain_newest(world, DYNAMIC)
    archive, _ = await exported(world)
    for outcome in (ImportOutcome.CREATED, ImportOutcome.THERE):
        assert await restored(copy, archive) is outcome
    assert await copy.audit.histories(SCOPE) == await world.audit.histories(SCOPE)
    (history,) = (await copy.audit.histories(SCOPE)).values()
    assert (list(history.segments), history.baselines) == ([20], frozenset({21}))
    assert await read_baseline(SCOPE, baseline.doc_id, 21, audit=copy.audit) == baseline
    assert await rebuilt(copy) == 1
    name = f"audit/{baseline.doc_id}.jsonl"
    assert files((await exported(copy))[0])[name] == files(archive)[name]
    copy.clock.advance(timedelta(days=70))
    copy.writes = 1_000
    await copy.live(DYNAMIC, put("/preferences", ["after the import"]))
    await copy.background.drain()
    assert await rebuilt(copy) == 2
    (history,) = (await copy.audit.histories(SCOPE)).values()
    assert (list(history.segments), history.baselines) == ([20, 21], frozenset({21}))


@pytest.mark.parametrize("applied", [True, False])
async def test_an_import_of_many_segments_that_ended_at_any_call_is_finished_by_the_next(
    applied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memnet.domain.documents.audit_segments.MAX_RECORDS", 8)
    monkeypatch.setattr("memnet.stores.segment_writer.APPEND_BYTES", 5_000)
    archive, _ = await exported(await long_world(20, 3, 18))
    watch, copy = FallsAt(0, applied=applied), World()
    with storage_watched(copy.blobs, watch):
        await restored(copy, archive)
    assert watch.calls.count("storage.create_log") == 4
    assert watch.calls.count("storage.append") > 6
    for number in range(1, len(watch.calls) + 1):
        copy = World()
        with storage_watched(copy.blobs, FallsAt(number, applied=applied)), suppress(StopsAt):
            await restored(copy, archive)
        copy.ids.secret(7)
        assert await restored(copy, archive) in (ImportOutcome.CREATED, ImportOutcome.THERE)
        assert await rebuilt(copy) == 20
        copy.writes = 1_000
        await copy.live(DYNAMIC, put("/preferences", ["after the import"]))
        assert await rebuilt(copy) == 21


async def sealed_records(world: World) -> dict[str, Any]:
    """Return the dynamic document's records in audit/."""
    found = {}
    for doc_id, history in (await world.audit.histories(SCOPE)).items():
        for first in history.segments:
            for record in await world.audit.read(SCOPE, doc_id, first) or ():
                if record["path"] == DYNAMIC.path:
                    found[record["change_id"]] = record
    return found


EVENT = stored_event("e1", scope=SCOPE)
RECORD = StoredItem(ItemKey(SCOPE, ItemKind.ACCESSES, "a"), b"{}")


async def put_back(world: World, entry: Entry, **members: Any) -> ImportOutcome:
    chosen: dict[str, Any] = {"dry_run": False, "events": world.events, "vault": world.vault}
    chosen |= {"ids": world.ids, "background": world.background}
    return await import_entry(entry, **arguments(**chosen | members))


async def line_of(kind: EntryKind) -> bytes:
    archive, _ = await exported(await filled_world(0), reader=OPERATOR)
    return files(archive)[kind.file].splitlines()[0]


async def test_an_event_is_created_and_marked_for_the_index() -> None:
    world = World()
    assert await put_back(world, EVENT, dry_run=True) is ImportOutcome.CREATED
    assert await world.events.get(EVENT.key) is None
    assert await put_back(world, EVENT) is ImportOutcome.CREATED
    assert await world.events.get(EVENT.key) == EVENT.data
    assert await marked(world) == {EVENT.key}


async def test_an_event_that_was_created_and_not_marked_is_marked() -> None:
    world = World()
    await world.events.create(EVENT.key, EVENT.data)
    assert await put_back(world, EVENT, dry_run=True) is ImportOutcome.THERE
    assert await put_back(world, EVENT) is ImportOutcome.THERE
    assert await marked(world) == {EVENT.key}


async def test_another_event_with_its_id_is_kept() -> None:
    world, other = World(), stored_event("e1", scope=SCOPE, digest="another")
    await world.events.create(other.key, other.data)
    for dry_run in (True, False):
        assert await put_back(world, EVENT, dry_run=dry_run) is ImportOutcome.KEPT
    assert await world.events.get(EVENT.key) == other.data


async def test_a_record_is_created_once() -> None:
    world = World()
    for dry_run, fate in (
        (True, ImportOutcome.CREATED),
        (False, ImportOutcome.CREATED),
        (False, ImportOutcome.THERE),
        (True, ImportOutcome.THERE),
    ):
        assert await put_back(world, RECORD, dry_run=dry_run) is fate
    assert await put_back(world, replace(RECORD, data=b"[]")) is ImportOutcome.KEPT


@pytest.mark.parametrize("kind", [EntryKind.SNAPSHOTS, EntryKind.ACCESSES])
async def test_a_refused_write_without_a_record_is_unavailable(kind: EntryKind) -> None:
    world, entry = World(), read_entry(kind, SCOPE, await line_of(kind))
    applies = False

    async def refuse(name: str, call: Any) -> Any:
        if name == "records.write" and applies:
            await call()
        if name == "records.write":
            raise StoreConflict
        return await call()

    vault = world.ports(refuse)["vault"]
    await KeyRing(world.vault).get_or_create(SCOPE)
    with pytest.raises(Unavailable):
        await put_back(world, entry, vault=vault)
    applies = True
    assert await put_back(world, entry, vault=vault) is ImportOutcome.THERE


async def test_a_conversation_is_sealed_and_compared_without_an_access_record() -> None:
    world = World()
    entry = read_entry(EntryKind.SNAPSHOTS, SCOPE, await line_of(EntryKind.SNAPSHOTS))
    assert isinstance(entry, Snapshot)
    assert await put_back(world, entry, dry_run=True) is ImportOutcome.CREATED
    assert await put_back(world, entry) is ImportOutcome.CREATED
    stored = await world.records.read(entry.key)
    assert stored is not None
    assert b"concise" not in stored.data
    assert await put_back(world, entry) is ImportOutcome.THERE
    assert await put_back(world, replace(entry, service_id="another")) is ImportOutcome.KEPT
    assert (await world.records.list(SCOPE, ItemKind.ACCESSES, limit=9, cursor=None)).items == []


async def test_a_replay_with_its_sealed_plan_equals_the_archived_one() -> None:
    world = await filled_world(0)
    entry = read_entry(EntryKind.REPLAYS, SCOPE, await line_of(EntryKind.REPLAYS))
    assert isinstance(entry, StoredItem)
    stored = await world.records.read(entry.key)
    assert stored is not None
    assert stored.data != entry.data
    assert await put_back(world, entry) is ImportOutcome.THERE
    other = replace(replays.load(entry.data), attempts=9)
    assert await put_back(world, replace(entry, data=replays.dump(other))) is ImportOutcome.KEPT


@pytest.mark.parametrize(
    ("kind", "unfinished", "finished"),
    [
        (EntryKind.REPLAYS, ["queued", "running"], ["succeeded", "partial", "failed"]),
        (EntryKind.CONFLICTS, ["open"], ["resolved", "discarded"]),
    ],
)
async def test_an_unfinished_replay_or_open_conflict_is_left_out(
    kind: EntryKind, unfinished: list[str], finished: list[str]
) -> None:
    found = orjson.loads(await line_of(kind))
    for status in unfinished + finished:
        entry = read_entry(kind, SCOPE, canonical({**found, "status": status}))
        expected = ImportOutcome.LEFT_OUT if status in unfinished else ImportOutcome.CREATED
        assert await put_back(World(), entry) is expected
