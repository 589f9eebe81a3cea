"""Retention over the days of one user's memory: expired items are deleted, and the rest stays intact."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import ETagMismatch, MalformedRequest, Unavailable, VersionNotFound
from memnet.domain.core.scope import ETag
from memnet.domain.core.timestamps import to_text
from memnet.domain.core.user_item import ItemKind
from memnet.domain.documents.commands import DeleteDocument, IfMatch
from memnet.operations.documents.read import get_document
from memnet.operations.documents.write import delete_document, patch_document
from memnet.operations.events.reconcile_events import reconcile_events
from memnet.stores.audit_log import segment_name
from tests.memory_blobs import storage_of
from tests.operations.replay_scenario import LIVE
from tests.operations.retention_scenario import (
    ALPHA,
    DAY,
    DAYS,
    DYNAMIC,
    SCOPE,
    SHORT,
    Between,
    FallsAt,
    RetentionWorld,
    StopsAt,
    aged,
    live,
    put,
)
from tests.services import service_of

WINDOW = datetime(2026, 2, 1, tzinfo=UTC)
"""After 60 days all of January has expired, and the first days of February stay with their month."""
_made: list[RetentionWorld] = []


@pytest.fixture
async def world() -> RetentionWorld:
    """A world of 60 days, made once and copied."""
    if not _made:
        _made.append(await aged(DAYS, SHORT))
    return _made[0].twin()


async def test_exactly_the_expired_items_are_deleted(world: Any) -> None:
    def age(day: int) -> int:
        return DAYS - day

    applied = await world.retain()
    assert not applied.report.unfinished

    assert await world.names(ItemKind.SNAPSHOTS) == [f"c1/s{day:03}" for day in range(0, DAYS, 10) if age(day) < 12]
    assert len(await world.names(ItemKind.REPLAYS)) == sum(age(day) < 15 for day in range(0, DAYS, 10))
    assert len(await world.names(ItemKind.ACCESSES)) == sum(age(day) < 15 for day in range(0, DAYS, 10))
    expected = sorted(f"evt-{day:03}" for day in range(0, DAYS, 7) if age(day) < 40)
    assert [name for name in await world.event_ids() if not name.startswith("memnet-rpl-")] == expected
    assert await world.indexed() == sorted(await world.event_ids())
    gone = {seen.change_id for seen in world.seen if seen.at < WINDOW}
    assert gone
    assert any(WINDOW <= seen.at <= world.clock.now() - 26 * DAY for seen in world.seen)
    assert gone & set(await world.changes()) == set()
    assert {seen.change_id for seen in world.seen} - gone <= set(await world.changes())
    assert (await world.content(ALPHA))["summary"] == f"As of day {(DAYS - 1) // 3 * 3}"


async def test_the_counts_match_the_deletions_and_a_dry_run_deletes_nothing(world: Any) -> None:
    before, changes = await world.everything(), await world.changes()
    dry = await world.retain(dry_run=True)
    assert await world.everything() == before
    applied = await world.retain()
    assert dry.to_json() | {"dry_run": False} == applied.to_json()
    after, changes_after = await world.everything(), await world.changes()

    def lost(folder: str) -> int:
        if folder == "audit":
            return len(changes) - len(changes_after)
        return sum(f"/{folder}/" in name for name in before) - sum(f"/{folder}/" in name for name in after)

    counts = applied.to_json()["counts"]
    assert {name: count["removed"] for name, count in counts.items()} == {name: lost(name) for name in counts}
    lived = counts.keys() - {"conflicts", "imports", "usage", "retractions", "withdrawn"}
    assert all(counts[name]["removed"] and counts[name]["retained"] for name in lived)
    histories = await world.audit.histories(SCOPE)
    assert applied.to_json()["baselines"] == sum(history.begins > 1 for history in histories.values()) == 2
    assert counts["audit"]["retained"] == len(changes_after)
    again = await world.retain()
    assert all(not tally.removed for tally in again.report.tallies.values())
    assert await world.everything() == after


async def test_as_of_applies_the_rules_at_another_time(world: Any) -> None:
    nothing = await world.retain(as_of=world.clock.now() - DAYS * DAY, dry_run=False)
    assert all(not tally.removed for tally in nothing.report.tallies.values())
    dry = await world.retain(as_of=world.clock.now() + 3000 * DAY, dry_run=True)
    assert all(not dry.report.tallies[name].retained for name in ("events", "snapshots", "replays", "accesses"))
    # The newest record of each document stays.
    assert dry.report.tallies["audit"].retained == 3
    with pytest.raises(MalformedRequest):
        await world.retain(as_of=world.clock.now() + timedelta(microseconds=1))


# The kept parts of the documents are still valid.


async def check_window(world: RetentionWorld) -> None:
    """Every version since the beginning of the window, as the client got it; and what came before it is not found."""
    rebuilt = await world.rebuilt()
    assert all(one.fault is None for one in rebuilt.values())
    begin = to_text(WINDOW)
    for key in (ALPHA, DYNAMIC):
        own = [seen for seen in world.seen if seen.key == key]
        by_id = {version.change_id: version for version in rebuilt[key].versions}
        for seen, following in zip(own, [*own[1:], None], strict=True):
            until = None if following is None else to_text(following.at)
            if until is not None and until <= begin:
                assert seen.change_id not in by_id
                with pytest.raises(VersionNotFound):
                    await get_document(key, world.service, as_of=seen.change_id)
                continue
            assert canonical(by_id[seen.change_id].document) == seen.data
            for as_of in (seen.change_id, max(to_text(seen.at), begin)):
                view = await get_document(key, world.service, as_of=as_of)
                if as_of == seen.change_id:
                    assert (view.etag, view.document) == (seen.etag, seen.data)
                else:
                    assert view.document == canonical(by_id[last_until(rebuilt[key], as_of)].document)


def last_until(rebuilt: Any, as_of: Any) -> Any:
    return [version.change_id for version in rebuilt.versions if version.timestamp <= as_of][-1]


async def test_every_version_in_the_window_is_rebuilt_byte_for_byte(world: Any) -> None:
    await world.retain()
    await check_window(world)


async def test_the_newest_record_and_its_own_baseline_always_stay(world: Any) -> None:
    world.clock.advance(1000 * DAY)
    await world.sweep()
    await world.retain()
    rebuilt = await world.rebuilt()
    assert [(one.fault, one.changes) for one in rebuilt.values()] == [(None, 1), (None, 1), (None, 1)]
    assert await world.changes() == sorted(one.versions[-1].change_id for one in rebuilt.values())
    head = await get_document(ALPHA, world.service)
    view = await get_document(ALPHA, world.service, as_of=to_text(world.clock.now()))
    assert view == head
    await world.change(ALPHA, put("/summary", "after the silence"))
    rebuilt = await world.rebuilt()
    assert (rebuilt[ALPHA].fault, len(rebuilt[ALPHA].versions)) == (None, 2)


async def test_expired_records_in_the_outbox_are_deleted() -> None:
    world = RetentionWorld()
    await world.create_project()
    await world.change(ALPHA, put("/summary", "long ago"))
    world.clock.advance(400 * DAY)
    await world.retain()
    assert [change[-1] for change in await world.changes()] == ["1", "2"], "that of the other document, and the newest"
    await world.change(ALPHA, put("/summary", "now"))
    assert [change[-1] for change in await world.changes()] == ["1", "2", "3"]
    assert (await world.rebuilt())[ALPHA].fault is None


async def test_a_repeated_request_without_its_record_is_stale(world: Any) -> None:
    first = next(seen for seen in world.seen if seen.key == ALPHA)
    command = world.live_command(ALPHA, first.etag, put("/summary", "again"))
    await world.retain()
    with pytest.raises(ETagMismatch):
        await patch_document(command, service_of(**world.writing()))


async def test_a_deletion_follows_the_rule_of_the_change_before() -> None:
    world = RetentionWorld()
    await world.create_project()
    seen = await world.change(ALPHA, put("/summary", "short-lived"))
    command = DeleteDocument(key=ALPHA, actor=LIVE, precondition=IfMatch(ETag(seen.etag)), idempotency_key="gone")
    writing = {name: port for name, port in world.writing().items() if name != "catalog"}
    deleted = await delete_document(command, service_of(**writing))
    await world.background.drain()
    world.clock.advance(365 * DAY)
    await world.retain()
    assert [change[-1] for change in await world.changes()] == ["1", "3"]
    baselines = [name for name in storage_of(world.audit).names(f"{SCOPE.prefix}audit/") if name.endswith(".json")]
    assert [name[-6] for name in baselines] == ["4"]
    rebuilt = (await world.rebuilt())[ALPHA]
    assert rebuilt.fault is None
    assert [version.etag for version in rebuilt.versions] == [deleted.etag]
    assert rebuilt.versions[-1].document is None
    await patch_document(world.live_command(ALPHA, None, put("/summary", "again")), service_of(**world.writing()))
    rebuilt = (await world.rebuilt())[ALPHA]
    assert (rebuilt.fault, rebuilt.changes) == (None, 2)


async def test_a_corrupt_history_is_left_unchanged(world: Any) -> None:
    storage, doc_id = storage_of(world.audit), (await world.rebuilt())[ALPHA].doc_id
    name = segment_name(SCOPE, doc_id, 1)
    of = [change for change in await world.changes() if change.startswith(doc_id)]
    first, second, rest = storage.data(name).split(b"\n", 2)
    altered = second.replace(b"svc-live", b"svc-evil")
    assert altered != second
    storage.overwrite(name, b"\n".join((first, altered, rest)))
    applied = await world.retain()
    assert applied.report.unreadable["audit"] == 1
    assert applied.report.unfinished
    assert set(of) <= set(await world.changes())
    assert applied.report.baselines == 1


# Interrupted anywhere, and run again.


@pytest.mark.parametrize(("applied", "error"), [(False, StopsAt), (True, Unavailable)])
async def test_interrupted_at_any_call_the_next_run_has_the_same_result(applied: Any, error: Any) -> None:
    base = RetentionWorld()
    await live(base, 12)
    base.clock.advance(380 * DAY)
    await base.change(ALPHA, put("/summary", "in the window"))
    await base.converse("s-new")
    base.clock.advance(2 * DAY)

    async def end(world: RetentionWorld, falls: FallsAt) -> list[str]:
        for _ in range(3):
            try:
                await world.retain(**world.retention_ports(falls))
            except (StopsAt, Unavailable):
                assert all(one.fault is None for one in (await world.rebuilt()).values())
                continue
            break
        world.clock.advance(timedelta(hours=2))
        await reconcile_events(world.service)
        await world.requeue()
        assert all(one.fault is None for one in (await world.rebuilt()).values())
        return await world.everything()

    undisturbed = FallsAt(0, applied=applied)
    expected = await end(base.twin(), undisturbed)
    assert len(undisturbed.calls) > 60
    for number, name in enumerate(undisturbed.calls, start=1):
        found = await end(base.twin(), FallsAt(number, applied=applied, error=error))
        assert found == expected, f"call {number}: {name}"


# Next to others.


@pytest.mark.parametrize("call", ["documents.get", "audit.histories", "audit.delete", "audit.read"])
async def test_a_concurrent_writer_loses_nothing(world: Any, call: Any) -> None:
    async def write() -> None:
        for number in range(3):
            await world.change(ALPHA, put("/summary", f"meanwhile {number}"))
            await world.change(DYNAMIC, put("/preferences", [f"meanwhile {number}"]))
            await world.event(f"evt-meanwhile-{number}")

    await world.retain(**world.retention_ports(Between(call, write)))
    assert (await world.content(ALPHA))["summary"] == "meanwhile 2"
    assert (await world.content(DYNAMIC))["preferences"] == ["meanwhile 2"]
    await check_window(world)
    assert {f"evt-meanwhile-{number}" for number in range(3)} <= set(await world.event_ids()) & set(
        await world.indexed()
    )
    await world.retain()
    await check_window(world)


@pytest.mark.parametrize(
    "call", ["audit.read_baseline", "audit.delete", "audit.read", "records.delete", "events.delete"]
)
async def test_two_concurrent_runs_have_the_same_result(world: Any, call: Any) -> None:
    alone = world.twin()
    await alone.retain()

    applied = await world.retain(**world.retention_ports(Between(call, world.retain, number=2)))
    assert applied.report.unreadable.total() == 0
    await world.retain()
    assert all(one.fault is None for one in (await world.rebuilt()).values())
    found, expected = [
        [name for name in await each.everything() if not name.startswith("mark ")] for each in (world, alone)
    ]
    assert found == expected


async def test_under_a_hold_nothing_is_deleted_and_it_is_reported(world: Any) -> None:
    before = await world.everything()
    due = await world.retain(dry_run=True)
    await world.hold("Litigation 17")
    applied = await world.retain()
    assert await world.everything() == before
    reported = applied.to_json()
    assert (reported["on_hold"], reported["holds"]) == (
        True,
        [{"covers": "user", "reason": "Litigation 17", "actor": "svc-legal", "since": to_text(world.clock.now())}],
    )
    for name, tally in applied.report.tallies.items():
        assert tally.removed == 0
        # What waits for something that would have gone in the same run, waits for what is held.
        assert tally.on_hold + tally.blocked == due.report.tallies[name].removed
    assert (await world.retain(dry_run=True)).to_json() == reported | {"dry_run": True}

    await world.release()
    assert (await world.retain()).to_json() == due.to_json() | {"dry_run": False}


@pytest.mark.parametrize("call", ["records.delete", "events.delete", "audit.delete"])
async def test_a_hold_placed_meanwhile_stops_the_run(world: Any, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memnet.operations.governance.retention_items.BATCH", 2)
    applied = await world.retain(**world.retention_ports(Between(call, world.hold)))
    assert applied.to_json()["on_hold"]
    kind = {"records.delete": "snapshots", "events.delete": "events", "audit.delete": "audit"}[call]
    # A batch of segments: that of the first document.
    assert applied.report.tallies[kind].removed == (2 if kind != "audit" else 12)
    assert applied.report.tallies[kind].on_hold > 0
    assert all(one.fault is None for one in (await world.rebuilt()).values())
