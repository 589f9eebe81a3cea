"""One document, put back: records first, the document last."""

import io
from typing import Any

import orjson
import pytest

from memnet.adapters.process.zip_archive import ZipArchiveReader
from memnet.domain.core.errors import ArchiveInvalid, HistoryCorrupt, Unavailable
from memnet.domain.documents.audit_record import record_bytes, record_hash
from memnet.domain.documents.audit_values import AuditRecordLocation, seal
from memnet.domain.governance.archive import ArchivedDocument
from memnet.domain.governance.archive_import import ImportOutcome
from memnet.domain.sealing.data_keys import data_keys_key
from memnet.operations.governance.restore_document import restore_document
from memnet.operations.governance.verify_archive import verify_archive
from memnet.operations.sealing.key_ring import KeyRing
from memnet.ports import StoreConflict
from tests.domain.samples import CATALOG
from tests.memory_blobs import storage_of
from tests.operations.archive_scenario import exported, filled_world, forged
from tests.operations.replay_scenario import DYNAMIC, SCOPE, Call, Watch, Watched, World, put, unwatched
from tests.services import service_of


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


async def test_nobody_sees_any_of_it_before_all_its_records_stand() -> None:
    archive, copy = (await exported(await filled_world(20)))[0], World()
    calls: list[str] = []

    async def watch(name: str, call: Call) -> Any:
        calls.append(name)
        return await call()

    assert await restored(copy, archive, watch=watch) is ImportOutcome.CREATED
    assert calls == ["documents.get", *["audit.append"] * 21, "documents.put", "documents.check"]
    assert storage_of(copy.records).names(f"{SCOPE.prefix}keys/") == [data_keys_key(SCOPE).blob_name]


async def test_a_dry_run_reads_the_document_and_writes_nothing() -> None:
    archive, copy = (await exported(await filled_world(2)))[0], World()
    assert await restored(copy, archive, dry_run=True) is ImportOutcome.CREATED
    assert storage_of(copy.audit).names() == []


async def test_its_own_write_that_is_reported_as_refused_is_found() -> None:
    archive, copy = (await exported(await filled_world(2)))[0], World()

    async def watch(name: str, call: Call) -> Any:
        found = await call()
        if name == "documents.put":
            raise StoreConflict
        return found

    assert await restored(copy, archive, watch=watch) is ImportOutcome.THERE


async def test_a_refusal_without_a_document_proves_nothing() -> None:
    archive, copy = (await exported(await filled_world(2)))[0], World()

    async def watch(name: str, call: Call) -> Any:
        if name == "documents.put":
            raise StoreConflict
        return await call()

    with pytest.raises(Unavailable):
        await restored(copy, archive, watch=watch)


async def test_without_the_record_that_follows_nothing_shows_that_it_is_the_same_history() -> None:
    world = await filled_world(2)
    archive, _ = await exported(world)
    assert await restored(world, archive) is ImportOutcome.THERE
    for number in range(2):
        await world.live(DYNAMIC, put("/preferences/0", f"went on {number}"))
    assert await restored(world, archive) is ImportOutcome.THERE
    records = [name for name in (await world.audit.list(SCOPE, "", limit=100, cursor=None)).items]
    before = len(records)
    stored = await world.history(DYNAMIC)
    await world.audit.delete(SCOPE, stored[3]["change_id"])
    assert before > 3
    assert await restored(world, archive) is ImportOutcome.KEPT


async def test_an_archive_that_is_no_longer_what_was_verified_makes_no_document() -> None:
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


async def test_records_are_sealed_anew_with_the_key_that_the_user_has_now() -> None:
    world, copy = await filled_world(2), elsewhere()
    archive, _ = await exported(world)
    assert await restored(copy, archive) is ImportOutcome.CREATED
    ours, theirs = await sealed_records(world), await sealed_records(copy)
    assert ours.keys() == theirs.keys()
    for change_id, record in theirs.items():
        assert record_hash(record) == record_hash(ours[change_id])
        assert record["sealed"]["key_id"] != ours[change_id]["sealed"]["key_id"]
    assert len(await copy.history(DYNAMIC)) == len(theirs)


async def test_what_an_interrupted_call_has_sealed_is_the_same_record() -> None:
    archive, copy = (await exported(await filled_world(20)))[0], World()
    appended = 0

    async def dies(name: str, call: Call) -> Any:
        nonlocal appended
        appended += name == "audit.append"
        if appended == 12:
            raise Unavailable(dependency="blob_storage")
        return await call()

    with pytest.raises(Unavailable):
        await restored(copy, archive, watch=dies)
    before = await sealed_records(copy)
    assert before
    assert await restored(copy, archive) is ImportOutcome.CREATED
    after = await sealed_records(copy)
    assert {name: after[name] for name in before} == before
    assert len(after) == 21


@pytest.mark.parametrize("sealed", [True, False])
async def test_another_record_in_its_place_is_not_taken_for_it(sealed: bool) -> None:
    world, copy = await filled_world(2), World()
    archive, _ = await exported(world)
    (name, *_) = await sealed_records(world)
    record = (await world.history(DYNAMIC))[0]
    other = {**record, "actor": "svc-mallory"}
    if sealed:
        data_key = await KeyRing(copy.vault).get_or_create(SCOPE)
        other = seal(other, AuditRecordLocation(SCOPE, name), data_key=data_key, nonce=bytes(12))
    await copy.audit.append(SCOPE, name, record_bytes(other))
    with pytest.raises(HistoryCorrupt):
        await restored(copy, archive)
    assert await copy.documents.get(DYNAMIC) is None


async def test_a_record_whose_key_is_gone_is_not_taken_for_it() -> None:
    world, copy = await filled_world(2), elsewhere()
    archive, _ = await exported(world)
    for name, record in (await sealed_records(world)).items():
        # As if the user's keys had been destroyed, and the records had not.
        await copy.audit.append(SCOPE, name, record_bytes(record))
    with pytest.raises(HistoryCorrupt):
        await restored(copy, archive)


async def sealed_records(world: World) -> dict[str, Any]:
    """The dynamic document's records as they stand in audit/."""
    found = {}
    for name in (await world.audit.list(SCOPE, "", limit=1000, cursor=None)).items:
        record = orjson.loads(await world.audit.read(SCOPE, name) or b"")
        if record["path"] == DYNAMIC.path:
            found[name] = record
    return found
