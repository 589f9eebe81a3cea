"""One document, put back: records first, the document last."""

import io
from typing import Any

import pytest

from memnet.adapters.process.zip_archive import ZipArchiveReader
from memnet.domain.archive import ArchivedDocument
from memnet.domain.archive_import import Fate
from memnet.domain.errors import ArchiveRefused, Unavailable
from memnet.operations.restore_document import restore_document
from memnet.operations.verify_archive import verify_archive
from memnet.ports import StoreConflict
from tests.domain.samples import CATALOG
from tests.operations.archive_world import exported, filled_world, forged
from tests.operations.replay_world import DYNAMIC, SCOPE, Call, Watch, Watched, World, put, unwatched


async def restored(
    world: World, archive: bytes, *, watch: Watch = unwatched, dry_run: bool = False, read: bytes | None = None
) -> Fate:
    """Restore the dynamic document; `read` is what the archive has become since it was verified."""
    verified = await verify_archive(ZipArchiveReader(io.BytesIO(archive)), catalog=CATALOG)
    row: ArchivedDocument = next(row for row in verified.manifest.documents if row.path == DYNAMIC.path)
    return await restore_document(
        row,
        archive=ZipArchiveReader(io.BytesIO(read or archive)),
        verified=verified,
        dry_run=dry_run,
        documents=Watched("documents", world.documents, watch),
        audit=Watched("audit", world.audit, watch),
    )


async def test_nobody_sees_any_of_it_before_all_its_records_stand() -> None:
    archive, copy = (await exported(await filled_world(20)))[0], World()
    calls: list[str] = []

    async def watch(name: str, call: Call) -> Any:
        calls.append(name)
        return await call()

    assert await restored(copy, archive, watch=watch) is Fate.CREATED
    assert calls == ["documents.get", *["audit.append"] * 21, "documents.put"]


async def test_a_dry_run_reads_the_document_and_writes_nothing() -> None:
    archive, copy = (await exported(await filled_world(2)))[0], World()
    assert await restored(copy, archive, dry_run=True) is Fate.CREATED
    assert [*copy.audit.names(), *copy.documents.names()] == []


async def test_its_own_write_that_is_reported_as_refused_is_found() -> None:
    archive, copy = (await exported(await filled_world(2)))[0], World()

    async def watch(name: str, call: Call) -> Any:
        found = await call()
        if name == "documents.put":
            raise StoreConflict
        return found

    assert await restored(copy, archive, watch=watch) is Fate.THERE


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
    assert await restored(world, archive) is Fate.THERE
    for number in range(2):
        await world.live(DYNAMIC, put("/preferences/0", f"went on {number}"))
    assert await restored(world, archive) is Fate.THERE
    records = [name for name in (await world.audit.list(SCOPE, "", limit=100, cursor=None)).items]
    before = len(records)
    stored = await world.history(DYNAMIC)
    await world.audit.delete(SCOPE, stored[3]["change_id"])
    assert before > 3
    assert await restored(world, archive) is Fate.KEPT


async def test_an_archive_that_is_no_longer_what_was_verified_makes_no_document() -> None:
    archive, copy = (await exported(await filled_world(2)))[0], World()

    def fewer(contents: Any, manifest: Any) -> None:
        name = next(f"audit/{row['doc_id']}.jsonl" for row in manifest["documents"] if row["path"] == DYNAMIC.path)
        contents[name] = b"".join(line + b"\n" for line in contents[name].splitlines()[:-1])

    with pytest.raises(ArchiveRefused):
        await restored(copy, archive, read=forged(archive, fewer))
    assert await copy.documents.get(DYNAMIC) is None
