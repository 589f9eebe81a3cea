"""The newest record stays; once it has expired, its own baseline replaces the one that its change continued from."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memnet.domain.catalog.retention_policy import Tally
from memnet.domain.core.errors import Unavailable, VersionNotFound
from memnet.domain.documents import envelope
from memnet.domain.documents.audit_segments import line
from memnet.domain.documents.commands import DeleteDocument, IfMatch
from memnet.operations.documents.outbox import sweep_user
from memnet.operations.documents.read import get_document
from memnet.operations.documents.write import delete_document, patch_document
from memnet.stores import read_baseline, store_baseline
from memnet.stores.audit_log import baseline_name, segment_name
from tests.memory_blobs import storage_of
from tests.operations.archive_scenario import Forgetful, exported
from tests.operations.baseline_scenario import stored_version
from tests.operations.replay_scenario import LIVE, Call, Watched
from tests.operations.retention_scenario import ALPHA, DAY, SCOPE, Between, RetentionWorld, put, storage_watched
from tests.services import service_of


async def quiet() -> RetentionWorld:
    """A project of day 0 is changed on day 100; on day 400 the first record has expired and is gone."""
    world = RetentionWorld()
    await world.create_project(summary="first")
    world.clock.advance(100 * DAY)
    await world.change(ALPHA, put("/summary", "second"))
    world.clock.advance(300 * DAY)
    await world.retain()
    assert await history_of(world) == ([2], {2})
    return world


async def history_of(world: RetentionWorld) -> tuple[list[int], set[int]]:
    found = await world.audit.history(SCOPE, await doc_id(world))
    return list(found.segments), set(found.baselines)


async def doc_id(world: RetentionWorld) -> str:
    return (await stored_version(world, ALPHA)).doc_id


async def test_the_run_reports_when_the_newest_record_expires_and_nothing_afterwards() -> None:
    world = await quiet()
    report = (await world.retain()).report
    assert report.tallies["audit"] == Tally(retained=2)
    assert report.next_due == world.seen[0].at + 365 * DAY
    world.clock.advance(report.next_due - world.clock.now() - timedelta(microseconds=1))
    assert (await world.retain()).report.next_due == report.next_due
    world.clock.advance(timedelta(microseconds=1))
    assert (await world.retain()).report.tallies["audit"] == Tally(removed=1, retained=2)
    assert await history_of(world) == ([2], {3})
    report = (await world.retain()).report
    assert (report.tallies["audit"], report.next_due) == (Tally(retained=2), None)


async def test_a_quiet_history_without_an_older_version_is_not_read() -> None:
    world, calls = await quiet(), list[str]()
    world.clock.advance(100 * DAY)
    await world.retain()

    async def watch(name: str, call: Call) -> Any:
        calls.append(name)
        return await call()

    await world.retain(**world.retention_ports(watch))
    assert {name for name in calls if name.startswith("audit.")} == {"audit.histories"}


def with_long_rule(world: RetentionWorld) -> None:
    """Add a profile that keeps records for 1000 days; the other keeps them for 365."""
    short = world.catalog.profiles["project-copilot-v1"]
    rules = short.retention_rules.model_copy(update={"audit_days": 1000})
    long = short.model_copy(update={"profile_id": "long-v1", "retention_rules": rules})
    world.catalog = replace(world.catalog, profiles={**world.catalog.profiles, "long-v1": long})


async def test_a_newest_record_that_outlasts_the_shortest_rule_is_due_when_it_expires() -> None:
    world = await quiet()
    with_long_rule(world)
    etag = (await stored_version(world, ALPHA)).commit.etag
    command = replace(world.live_command(ALPHA, etag, put("/summary", "third")), profile_id="long-v1")
    await patch_document(command, service_of(**world.writing() | {"catalog": world.catalog}))
    await world.background.drain()
    changed = world.clock.now()
    world.clock.advance(400 * DAY)
    await world.retain()
    assert (await world.retain()).report.next_due == changed + 1000 * DAY
    assert await history_of(world) == ([3], {3})
    world.clock.advance(600 * DAY)
    await world.retain()
    assert await history_of(world) == ([3], {4})


async def test_a_deletion_expires_by_the_rule_of_the_change_before_it() -> None:
    """It names no profile; the baseline before it says which rule applies, also after all older records are gone."""
    world = await quiet()
    with_long_rule(world)
    current = await stored_version(world, ALPHA)
    precondition = IfMatch(current.commit.etag)
    command = DeleteDocument(key=ALPHA, actor=LIVE, precondition=precondition, idempotency_key="delete")
    await delete_document(command, world.service)
    await world.background.drain()
    deleted = world.clock.now()
    world.clock.advance(100 * DAY)
    await world.retain()
    assert await history_of(world) == ([3], {3})
    report = (await world.retain()).report
    assert report.next_due == deleted + 365 * DAY
    world.clock.advance(265 * DAY)
    await world.retain()
    assert await history_of(world) == ([3], {4})


async def test_under_a_hold_the_older_version_stays_and_counts_as_on_hold() -> None:
    world = await quiet()
    world.clock.advance(100 * DAY)
    await world.hold()
    for dry_run in (True, False):
        report = (await world.retain(dry_run=dry_run)).report
        assert (report.tallies["audit"], report.waiting) == (Tally(on_hold=1, retained=2), True)
    assert await history_of(world) == ([2], {2})
    await world.release()
    assert (await world.retain()).report.baselines == 1
    assert await history_of(world) == ([2], {3})


async def test_the_next_change_continues_from_the_baseline_and_is_read_like_any_other() -> None:
    world = await quiet()
    world.clock.advance(100 * DAY)
    await world.retain()
    await world.change(ALPHA, put("/summary", "third"))
    report = await sweep_user(SCOPE, world.service)
    assert (report.baselines, report.broken) == (0, 0)
    assert await history_of(world) == ([2, 3], {3})
    for seen in world.seen:
        assert (await get_document(ALPHA, world.service, as_of=seen.change_id)).document == seen.data
    with pytest.raises(VersionNotFound):
        await get_document(ALPHA, world.service, as_of=f"{await doc_id(world)}-000000000001")
    assert (await world.rebuilt())[ALPHA].fault is None
    await exported(world)
    assert (await world.retain()).report.tallies["audit"] == Tally(removed=1, retained=2)
    assert await history_of(world) == ([3], {3})
    world.clock.advance(400 * DAY)
    await world.retain()
    assert await history_of(world) == ([3], {4})
    assert (await world.rebuilt())[ALPHA].fault is None


async def test_of_two_baselines_an_interrupted_run_leaves_the_next_removes_the_older() -> None:
    world = await quiet()
    older = await read_baseline(SCOPE, await doc_id(world), 2, audit=world.audit)
    assert older is not None
    world.clock.advance(100 * DAY)
    await world.retain()
    await store_baseline(older, audit=world.audit)
    assert await history_of(world) == ([2], {2, 3})
    assert (await world.rebuilt())[ALPHA].fault is None
    await world.retain()
    assert await history_of(world) == ([2], {3})


@pytest.mark.parametrize("kept", ["altered record", "altered baseline", "missing"])
async def test_nothing_goes_if_the_record_or_its_baseline_does_not_hold(kept: str) -> None:
    """Each is confirmed by the other, and both by the document."""
    world = await quiet()
    storage, name = storage_of(world.audit), segment_name(SCOPE, await doc_id(world), 2)
    if kept == "altered record":
        stored = await world.documents.get(ALPHA)
        assert stored is not None
        current = envelope.load(stored.data)
        record = {**current.commit.outbox[0], "actor": "mallory"}
        storage.overwrite(name, line(record), metadata={"started": record["timestamp"]})
        forged = replace(current, commit=replace(current.commit, outbox=(record,)))
        summary = envelope.summarise(forged)
        await world.documents.put(ALPHA, envelope.dump(forged), summary, replaces=stored.storage_etag)
    elif kept == "missing":
        storage.drop(baseline_name(SCOPE, await doc_id(world), 2))
    else:
        storage.overwrite(baseline_name(SCOPE, await doc_id(world), 3), b"{}")
    before = await world.everything()
    world.clock.advance(100 * DAY)
    assert (await world.retain()).report.unreadable["audit"] == 1
    assert await world.everything() == before


async def test_a_sweep_that_derives_from_a_baseline_that_goes_finds_the_one_that_replaces_it() -> None:
    world = await quiet()
    world.clock.advance(100 * DAY)
    command = world.live_command(ALPHA, (await stored_version(world, ALPHA)).commit.etag, put("/summary", "third"))
    await patch_document(command, service_of(**world.writing() | {"background": Forgetful()}))
    watch = Between("audit.read_baseline", world.retain)
    report = await sweep_user(SCOPE, service_of(documents=world.documents, audit=Watched("audit", world.audit, watch)))
    assert (report.broken, report.postponed) == (0, 0)
    assert await history_of(world) == ([3], {3})


async def test_a_reader_whose_baseline_goes_meanwhile_can_retry() -> None:
    world = await quiet()
    world.clock.advance(100 * DAY)
    with storage_watched(world.blobs, Between("storage.get", world.retain, 2)), pytest.raises(Unavailable):
        await get_document(ALPHA, world.service, as_of=world.seen[0].change_id)
    view = await get_document(ALPHA, world.service, as_of=world.seen[0].change_id)
    assert view.document == world.seen[0].data
