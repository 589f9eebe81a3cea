"""An archive has the retractions with their plans; an import restores them, and brings back nothing they took."""

import io
import zipfile
from typing import Any

import orjson
import pytest

from memnet.adapters.process.zip_archive import ZipArchiveReader, ZipArchiveWriter
from memnet.domain.core.errors import SourceRetracted
from memnet.domain.core.scope import UserScope
from memnet.domain.governance.archive_import import ImportReport
from memnet.domain.governance.retraction import RetractionStatus
from memnet.domain.governance.waiting import WaitingKind
from memnet.operations.governance.export_user import ExportOptions, export_user
from memnet.operations.governance.import_user import import_user
from memnet.operations.governance.retractions import apply_retraction, get_retraction
from memnet.operations.replay.closed_sources import read_closed_sources
from memnet.service import Service
from tests.operations.archive_scenario import files
from tests.operations.retraction_scenario import ADMIN, OTHER, Retracting, texts
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import drain

ELSEWHERE = UserScope("t1", "u7")


async def archive_of(world: Retracting) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        await export_user(ONE, world.service, ExportOptions(ADMIN), archive=ZipArchiveWriter(archive))
    return file.getvalue()


async def imported(
    archive: bytes, service: Service, target: UserScope = ONE, *, dry_run: bool = False
) -> dict[str, int]:
    reader = ZipArchiveReader(io.BytesIO(archive))
    report: ImportReport = await import_user(reader, target, service, actor=ADMIN, dry_run=dry_run)
    await drain(service)
    return {f"{kind} {outcome.value}": count for (kind, outcome), count in sorted(report.entries.items())}


def lines(archive: bytes) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in files(archive)["retractions.jsonl"].splitlines()]


async def test_the_archive_has_the_plan_and_whether_the_source_is_closed() -> None:
    world = await Retracting().prepared()
    planned = await world.planned()
    (line,) = lines(await archive_of(world))
    assert (line["status"], line["is_closed"]) == ("planned", False)
    assert "Mallory" in orjson.dumps(line["plan"]).decode()
    await apply_retraction(ONE, planned.retraction.retraction_id, None, world.service, actor=OTHER)
    await world.run(planned.retraction.retraction_id)
    archive = await archive_of(world)
    (line,) = lines(archive)
    assert (line["status"], line["is_closed"], "sealed" in line) == ("applied", True, False)
    conversations = [orjson.loads(row)["conversation_id"] for row in files(archive)["snapshots.jsonl"].splitlines()]
    assert conversations == ["c2"]


async def test_a_closed_source_stays_closed_after_an_import_and_an_undo_restores_the_document() -> None:
    world = await Retracting().prepared()
    content = await world.content()
    retraction = await world.applied()
    archive = await archive_of(world)
    copy = Retracting()
    assert (await imported(archive, copy.service, dry_run=True))["retractions created"] == 1
    assert copy.stored("retractions", "withdrawn") == {}
    for outcome in ("created", "there"):
        assert (await imported(archive, copy.service))[f"retractions {outcome}"] == 1
    with pytest.raises(SourceRetracted):
        await copy.say("c1", "s5")
    found, there = [await get_retraction(ONE, retraction.retraction_id, one.service) for one in (copy, world)]
    assert (found.plan, found.retraction.members()) == (there.plan, there.retraction.members())
    assert b"Mallory" not in b"".join(copy.stored("retractions").values())
    assert (await copy.undone(retraction.retraction_id)).status is RetractionStatus.UNDONE
    assert texts(await copy.content()) == texts(content)
    await copy.say("c1", "s5")


async def test_one_that_was_being_applied_waits_and_is_continued() -> None:
    world = await Retracting().prepared()
    view = await world.planned()
    await apply_retraction(ONE, view.retraction.retraction_id, None, world.service, actor=OTHER)
    archive, copy = await archive_of(world), Retracting()
    await imported(archive, copy.service)
    found = (await get_retraction(ONE, view.retraction.retraction_id, copy.service)).retraction
    assert (found.status, found.failure) == (RetractionStatus.FAILED, "UNAVAILABLE")
    assert (await imported(archive, copy.service))["retractions there"] == 1
    marked = await copy.service.waiting.list(ONE, WaitingKind.RETRACTION, limit=9)
    assert [mark.item for mark in marked.items] == [found.retraction_id]
    await apply_retraction(ONE, found.retraction_id, None, copy.service, actor=OTHER)
    assert (await copy.run(found.retraction_id)).status is RetractionStatus.APPLIED
    assert "Mallory" not in orjson.dumps(await copy.content()).decode()


async def test_an_older_archive_brings_nothing_of_a_closed_source_back() -> None:
    world = await Retracting().prepared()
    older = await archive_of(world)
    await world.applied()
    before = world.stored("documents", "snapshots", "events", "conflicts", "replays")
    counted = await imported(older, world.service)
    assert world.stored("documents", "snapshots", "events", "conflicts", "replays") == before
    assert await world.plan() == []
    assert (counted["snapshots left_out"], counted["events left_out"], counted["replays left_out"]) == (1, 1, 1)
    assert not [name for name in counted if "kept" in name]


async def test_another_user_gets_no_retraction_and_no_closed_source() -> None:
    world = await Retracting().prepared()
    await world.applied()
    counted = await imported(await archive_of(world), world.service, ELSEWHERE)
    assert counted["retractions left_out"] == 1
    assert list(await read_closed_sources(ELSEWHERE, world.service.records)) == []
