"""A document's history is shortened from its beginning, behind a baseline that matches it."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from memnet.domain.catalog.retention_policy import Tally
from memnet.domain.core.access import Reason
from memnet.domain.core.errors import ErasureRunning, HistoryCorrupt
from memnet.domain.core.scope import DocumentKey
from memnet.domain.documents import envelope
from memnet.domain.documents.commands import IfAbsent, IfMatch, PatchDocument
from memnet.domain.documents.envelope import Position
from memnet.operations.documents.write import patch_document
from memnet.stores import AuditLog, read_baseline, store_baseline
from tests.operations.replay_scenario import LIVE
from tests.operations.retention_scenario import ALPHA, DAY, SCOPE, Between, RetentionWorld, put
from tests.services import service_of


async def four_changes(world: RetentionWorld) -> None:
    """A change of the project every hundred days, the first of which created it."""
    await world.create_project()
    for number in range(2, 5):
        world.clock.advance(100 * DAY)
        await world.change(ALPHA, put("/summary", f"change {number}"))
    await world.sweep()


async def of_alpha(world: RetentionWorld) -> tuple[list[int], list[int]]:
    """The numbers of the changes that have a record, and the first changes of the segments that have a baseline."""
    doc_id = (await world.rebuilt())[ALPHA].doc_id
    changes = [change for change in await world.changes() if change.startswith(f"{doc_id}-")]
    history = await world.audit.history(SCOPE, doc_id)
    return [int(change.rpartition("-")[2]) for change in changes], sorted(history.baselines)


@pytest.mark.parametrize(
    ("days", "left", "kept"),
    [
        (0, [1, 2, 3, 4], [2, 3, 4]),
        (65, [2, 3, 4], [2, 3, 4]),
        (264, [3, 4], [3, 4]),
        (265, [4], [4]),
        (364, [4], [4]),
        (365, [4], [5]),
        (999, [4], [5]),
    ],
)
async def test_expired_records_are_deleted_except_the_newest(days: Any, left: Any, kept: Any) -> None:
    world = RetentionWorld()
    await four_changes(world)
    world.clock.advance(days * DAY)
    applied = await world.retain()
    assert await of_alpha(world) == (left, kept)
    assert applied.report.baselines >= (len(left) < 4)
    assert (await world.rebuilt())[ALPHA].fault is None


async def test_repeated_runs_leave_the_baselines_of_the_segments_that_stay() -> None:
    """Of the newest record, once it has expired, its own."""
    world = RetentionWorld()
    await four_changes(world)
    for gone in range(1, 5):
        world.clock.advance(65 * DAY if gone == 1 else 100 * DAY)
        for _ in range(2):
            await world.retain()
            left = list(range(min(gone + 1, 4), 5))
            assert await of_alpha(world) == (left, left if gone < 4 else [5])


async def test_a_baseline_names_its_document_and_contains_its_content() -> None:
    world = RetentionWorld()
    await four_changes(world)
    seen = world.seen[0]
    world.clock.advance(165 * DAY)
    await world.retain()
    doc_id = seen.change_id.rpartition("-")[0]
    members = orjson.loads(await world.audit.read_baseline(SCOPE, doc_id, 3) or b"")
    assert (members["tenant_id"], members["user_id"], members["namespace"], members["path"]) == (
        "t1",
        "u1",
        "projects",
        "alpha.json",
    )
    served = orjson.loads(seen.data)
    found = await read_baseline(SCOPE, doc_id, 3, audit=world.audit)
    assert found is not None
    assert found.content == served["content"]
    assert (members["etag"], members["timestamp"], members["actor"], members["profile_id"]) == (
        seen.etag,
        served["updated_at"],
        "svc-live",
        "project-copilot-v1",
    )


async def test_a_record_that_stays_keeps_all_after_it() -> None:
    """A chain has no gaps: a longer rule in the middle holds what follows, and nothing outlives the longest."""
    world = RetentionWorld()
    short = world.catalog.profiles["project-copilot-v1"]
    rules = short.retention_rules.model_copy(update={"audit_days": 500})
    long = short.model_copy(update={"profile_id": "long-v1", "retention_rules": rules})
    world.catalog = replace(world.catalog, profiles={**world.catalog.profiles, "long-v1": long})

    for number, profile_id in enumerate(["project-copilot-v1", "long-v1", "project-copilot-v1"], start=1):
        head = await world.documents.get(ALPHA)
        command = PatchDocument(
            key=ALPHA,
            actor=LIVE,
            precondition=IfMatch(head.view.etag) if head and head.view else IfAbsent(),
            idempotency_key=f"k{number}",
            profile_id=profile_id,
            binding_id="project_doc",
            ops=[put("/summary", str(number))],
            reason=Reason.LIVE_UPDATE,
        )
        await patch_document(command, service_of(**world.writing() | {"catalog": world.catalog}))
        await world.background.drain()
        world.clock.advance(32 * DAY)
    world.clock.advance(400 * DAY)
    await world.retain()
    assert await of_alpha(world) == ([2, 3], [2, 3])
    world.clock.advance(36 * DAY)
    await world.retain()
    assert await of_alpha(world) == ([3], [4])


async def test_a_late_append_does_not_restore_a_removed_segment() -> None:
    world = RetentionWorld()
    await world.create_project()
    await world.change(ALPHA, put("/summary", "second"))
    stored = await world.documents.get(ALPHA)
    assert stored is not None
    late = replace(envelope.load(stored.data).commit, position=Position(1, 99))
    world.clock.advance(400 * DAY)
    await world.retain()
    process = AuditLog(world.blobs, world.vault)
    with pytest.raises(HistoryCorrupt):
        await process.flush(SCOPE, replace(envelope.load(stored.data), commit=late))
    assert await of_alpha(world) == ([2], [3])


async def test_a_write_during_the_run_defers_it() -> None:
    world = RetentionWorld()
    await world.create_project()
    await world.change(ALPHA, put("/summary", "long ago"))
    world.clock.advance(400 * DAY)

    write = Between("documents.put", lambda: world.change(ALPHA, put("/summary", "meanwhile")))
    applied = await world.retain(**world.retention_ports(write))
    assert applied.report.tallies["audit"] == Tally(deferred=2, retained=2)
    assert applied.report.unfinished
    await world.retain()
    assert await of_alpha(world) == ([3], [3])
    assert (await world.content(ALPHA))["summary"] == "meanwhile"


@pytest.mark.parametrize(
    "forge",
    [
        lambda made: replace(made, content={**made.content, "summary": "forged"}),
        lambda made: replace(made, record_hash="0" * 64),
        lambda made: replace(made, etag='"2-0000000000000000"'),
        lambda made: replace(made, key=DocumentKey(SCOPE, "projects", "beta.json")),
        lambda made: replace(made, created_at="2020-01-01T00:00:00.000000Z"),
        lambda made: replace(made, profile_id="long-v1"),
        lambda made: b"{}",
    ],
)
@pytest.mark.parametrize("first", [2, 3])
async def test_before_a_forged_baseline_nothing_is_deleted(forge: Any, first: int) -> None:
    """An attacker who can write to the storage must not make retention delete the truth."""
    world = RetentionWorld()
    await four_changes(world)
    doc_id = (await world.rebuilt())[ALPHA].doc_id
    made = await read_baseline(SCOPE, doc_id, first, audit=world.audit)
    forged = forge(made)
    await world.audit.delete(SCOPE, doc_id, first, baseline=True)
    if isinstance(forged, bytes):
        await world.audit.create_baseline(SCOPE, doc_id, first, forged)
    else:
        await store_baseline(forged, audit=world.audit)
    before = [name for name in await world.everything() if "/audit/" in name and doc_id in name]
    world.clock.advance(165 * DAY)
    for dry_run in (True, False):
        applied = await world.retain(dry_run=dry_run)
        assert applied.report.unreadable["audit"] == 1
        assert [name for name in await world.everything() if "/audit/" in name and doc_id in name] == before


async def test_a_history_during_an_erasure_is_not_corrupt(caplog: pytest.LogCaptureFixture) -> None:
    world = RetentionWorld()
    await four_changes(world)
    world.clock.advance(165 * DAY)

    async def erase() -> None:
        await world.fences.write(SCOPE, b"{}", replaces=None)
        for doc_id, history in (await world.audit.histories(SCOPE)).items():
            for first in history.segments:
                await world.audit.delete(SCOPE, doc_id, first)

    with pytest.raises(ErasureRunning):
        await world.retain(**world.retention_ports(Between("audit.read", erase)))
    assert caplog.records == []
