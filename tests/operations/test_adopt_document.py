"""One document, taken over: the old records first, then one audited change."""

import io
from dataclasses import replace
from typing import Any

import pytest

from memnet.adapters.process.zip_archive import ZipArchiveReader
from memnet.domain.archive import ArchivedDocument
from memnet.domain.archive_import import Fate
from memnet.domain.catalog import Catalog
from memnet.domain.errors import HistoryBroken
from memnet.domain.record import RecordKey, RecordKind
from memnet.operations.adopt_document import adopt_document
from memnet.operations.verify_archive import verify_archive
from tests.domain.samples import CATALOG
from tests.operations.archive_world import ALPHA, BETA, OPERATOR, OTHER, exported, filled_world
from tests.operations.replay_world import STATIC, Call, Watch, Watched, World, unwatched


async def adopted(
    world: World, archive: bytes, path: str, *, watch: Watch = unwatched, catalog: Catalog = CATALOG
) -> Fate:
    reader = ZipArchiveReader(io.BytesIO(archive))
    verified = await verify_archive(reader, catalog=CATALOG)
    row: ArchivedDocument = next(row for row in verified.manifest.documents if row.path == path)
    found = await adopt_document(
        row,
        archive=reader,
        verified=verified,
        target=OTHER,
        actor=OPERATOR,
        dry_run=False,
        documents=Watched("documents", world.documents, watch),
        audit=world.audit,
        records=Watched("records", world.records, watch),
        catalog=catalog,
        clock=world.clock,
        ids=world.ids,
        background=world.background,
    )
    await world.background.drain()
    return found


async def test_the_old_records_stand_before_the_document_names_them() -> None:
    archive, copy = (await exported(await filled_world(0)))[0], World()
    calls: list[str] = []

    async def watch(name: str, call: Call) -> Any:
        calls.append(name)
        return await call()

    assert await adopted(copy, archive, ALPHA.path, watch=watch) is Fate.CREATED
    writes = [name for name in calls if name in ("records.write", "documents.put")]
    assert writes == [*["records.write"] * 4, "documents.put"]
    assert await adopted(copy, archive, ALPHA.path) is Fate.THERE


async def test_of_a_deleted_document_only_the_records_are_kept() -> None:
    archive, copy = (await exported(await filled_world(0)))[0], World()
    assert await adopted(copy, archive, BETA.path) is Fate.LEFT_OUT
    assert await copy.documents.get(replace(BETA, scope=OTHER)) is None
    kept = (await copy.records.list(OTHER, RecordKind.IMPORTS, limit=9, cursor=None)).items
    assert len(kept) == 2


async def test_something_else_in_the_place_of_an_old_record_stops_it() -> None:
    world, copy = await filled_world(0), World()
    archive, report = await exported(world)
    row = next(row for row in report.manifest.documents if row.path == STATIC.path)
    key = RecordKey(OTHER, RecordKind.IMPORTS, f"{report.sha256}/audit/{row.doc_id}-{1:012d}")
    await copy.records.write(key, b"{}", replaces=None)
    with pytest.raises(HistoryBroken):
        await adopted(copy, archive, STATIC.path)
    assert await copy.documents.get(replace(STATIC, scope=OTHER)) is None
