"""A document's history is shortened from its beginning, behind a baseline that matches it."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from memnet.domain.catalog.retention_policy import Tally
from memnet.domain.core.access import Reason
from memnet.domain.core.errors import ErasureRunning
from memnet.domain.core.scope import DocumentKey
from memnet.domain.documents.commands import IfAbsent, IfMatch, PatchDocument
from memnet.domain.history import baseline as baselines
from memnet.operations.documents.write import patch_document
from memnet.stores import read_baseline
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
    """The numbers of the changes that have a record, and of those that have a baseline."""
    doc_id = (await world.rebuilt())[ALPHA].doc_id
    found = (
        await world.audit.list(SCOPE, f"{doc_id}-", limit=100, cursor=None),
        await world.audit.list_baselines(SCOPE, f"{doc_id}-", limit=100, cursor=None),
    )
    records, standing = ([int(change.rpartition("-")[2]) for change in page.items] for page in found)
    return records, standing


@pytest.mark.parametrize(
    ("days", "left"),
    [(0, [1, 2, 3, 4]), (65, [2, 3, 4]), (264, [3, 4]), (265, [4]), (999, [4])],
)
async def test_expired_records_are_deleted_except_the_newest(days: Any, left: Any) -> None:
    world = RetentionWorld()
    await four_changes(world)
    world.clock.advance(days * DAY)
    applied = await world.retain()
    gone = 4 if days >= 365 else 4 - len(left)
    assert await of_alpha(world) == (left, [gone] if gone else [])
    assert applied.report.baselines >= bool(gone)
    assert (await world.rebuilt())[ALPHA].fault is None


async def test_repeated_runs_leave_one_baseline() -> None:
    world = RetentionWorld()
    await four_changes(world)
    for gone in range(1, 5):
        world.clock.advance(65 * DAY if gone == 1 else 100 * DAY)
        for _ in range(2):
            await world.retain()
            assert await of_alpha(world) == (list(range(min(gone + 1, 4), 5)), [gone])


async def test_a_baseline_names_its_document_and_contains_its_content() -> None:
    world = RetentionWorld()
    await four_changes(world)
    seen = world.seen[0]
    world.clock.advance(165 * DAY)
    await world.retain()
    members = orjson.loads(await world.audit.read_baseline(SCOPE, seen.change_id) or b"")
    assert (members["tenant_id"], members["user_id"], members["namespace"], members["path"]) == (
        "t1",
        "u1",
        "projects",
        "alpha.json",
    )
    served = orjson.loads(seen.data)
    found = await read_baseline(SCOPE, seen.change_id.rpartition("-")[0], audit=world.audit)
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
        world.clock.advance(DAY)
    world.clock.advance(400 * DAY)
    await world.retain()
    assert await of_alpha(world) == ([2, 3], [1])
    world.clock.advance(98 * DAY)
    await world.retain()
    assert await of_alpha(world) == ([3], [3])


async def test_a_record_restored_by_a_late_flush_is_deleted_again() -> None:
    world = RetentionWorld()
    await four_changes(world)
    first, *_ = [change for change in await world.changes() if change.startswith((await world.rebuilt())[ALPHA].doc_id)]
    data = await world.audit.read(SCOPE, first) or b""
    world.clock.advance(165 * DAY)
    await world.retain()
    await world.audit.append(SCOPE, first, data)
    assert (await world.rebuilt())[ALPHA].fault is None
    await world.retain()
    assert await of_alpha(world) == ([3, 4], [2])


async def test_a_write_during_the_run_defers_it() -> None:
    world = RetentionWorld()
    await world.create_project()
    await world.change(ALPHA, put("/summary", "long ago"))
    world.clock.advance(400 * DAY)

    write = Between("documents.put", lambda: world.change(ALPHA, put("/summary", "meanwhile")))
    applied = await world.retain(**world.retention_ports(write))
    assert applied.report.tallies["audit"] == Tally(deferred=1, retained=2)
    assert applied.report.unfinished
    await world.retain()
    assert await of_alpha(world) == ([3], [2])
    assert (await world.content(ALPHA))["summary"] == "meanwhile"


@pytest.mark.parametrize(
    "forge",
    [
        lambda made: baselines.dump(replace(made, content={**made.content, "summary": "forged"})),
        lambda made: baselines.dump(replace(made, record_hash="0" * 64)),
        lambda made: baselines.dump(replace(made, etag='"2-0000000000000000"')),
        lambda made: baselines.dump(replace(made, key=DocumentKey(SCOPE, "projects", "beta.json"))),
        lambda made: b"{}",
    ],
)
async def test_behind_a_forged_baseline_nothing_is_deleted(forge: Any) -> None:
    """An attacker who can write to the storage must not make retention delete the truth."""
    world = RetentionWorld()
    await four_changes(world)
    twin = world.twin()
    twin.clock.advance(165 * DAY)
    await twin.retain()
    first = (await twin.rebuilt())[ALPHA].versions[0].change_id
    made = await read_baseline(SCOPE, first.rpartition("-")[0], audit=twin.audit)
    await world.audit.append_baseline(SCOPE, first, forge(made))
    records, _ = await of_alpha(world)
    assert (await world.rebuilt())[ALPHA].fault is not None
    world.clock.advance(165 * DAY)
    applied = await world.retain()
    assert applied.report.unreadable["audit"] == 1
    assert (await of_alpha(world))[0] == records


async def test_a_history_during_an_erasure_is_not_corrupt(caplog: pytest.LogCaptureFixture) -> None:
    world = RetentionWorld()
    await four_changes(world)
    world.clock.advance(165 * DAY)

    async def erase() -> None:
        await world.fences.write(SCOPE, b"{}", replaces=None)
        for change in (await world.audit.list(SCOPE, "", limit=100, cursor=None)).items:
            await world.audit.delete(SCOPE, change)

    with pytest.raises(ErasureRunning):
        await world.retain(**world.retention_ports(Between("audit.read", erase)))
    assert caplog.records == []
