"""Segments are removed whole, oldest first: no reader sees a gap, whatever is interrupted or happens meanwhile."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import orjson
import pytest

from memnet.domain.catalog.retention_policy import Ceilings, Tally
from memnet.domain.core.errors import ErasureRunning, Unavailable, VersionNotFound
from memnet.domain.core.scope import ETag
from memnet.domain.core.timestamps import to_text
from memnet.domain.documents import envelope
from memnet.domain.documents.commands import DeleteDocument, IfMatch
from memnet.domain.documents.envelope import Envelope, Position
from memnet.operations.documents.read import get_document
from memnet.operations.documents.write import delete_document, patch_document
from memnet.operations.history.list_audit import list_audit
from memnet.stores import AuditLog, DocumentStore
from tests.domain.samples import CATALOG
from tests.memory_blobs import storage_of
from tests.operations.archive_scenario import Forgetful
from tests.operations.replay_scenario import LIVE, Call, Watched
from tests.operations.retention_scenario import (
    ALPHA,
    DAY,
    SCOPE,
    AtEach,
    FallsAt,
    RetentionWorld,
    Seen,
    StopsAt,
    put,
    storage_watched,
)
from tests.services import service_of


@dataclass(frozen=True)
class Life:
    """A project that is created on day 0 and changed on these days, and what is left of its history on `day`.

    If one record is left, it has expired, too, unless `stays`: then the baseline before it goes with the others.
    """

    days: Sequence[int]
    day: int
    left: Sequence[int]
    lost: Sequence[int] = ()
    """The changes whose writers ended before they appended the record."""
    deleted: int = 0
    """The change that deletes the project."""
    stays: bool = False

    @property
    def replaced(self) -> bool:
        """Whether the baseline of the newest record replaces the one before it."""
        return len(self.left) == 1 and not self.stays


LIVES = {
    "a month has expired": Life([0, 1, 35, 36], 380, [4, 5]),
    "only the newest record is left": Life([0, 1], 500, [3]),
    "two months and the newest record": Life([0, 1, 35, 36, 37], 500, [6]),
    "an old outbox that was never appended": Life([0, 1, 35, 36], 380, [4, 5], lost=[2, 3, 4, 5]),
    "an old outbox and only the newest record": Life([0, 1, 2], 500, [4], lost=[3, 4]),
    "deleted and created again": Life([0, 1, 35, 36], 500, [5], deleted=3),
    "deleted": Life([0, 35], 500, [3], deleted=3),
    "the newest record has not expired": Life([0, 1], 365, [3], stays=True),
    "nor the month that it began": Life([0, 35], 366, [3], stays=True),
}


async def lived(life: Life) -> RetentionWorld:
    world = RetentionWorld()
    start = world.clock.now()
    await world.create_project()
    for number, day in enumerate(life.days, start=2):
        world.clock.advance(start + day * DAY - world.clock.now())
        await change(world, number, life)
    world.clock.advance(start + life.day * DAY - world.clock.now())
    # The process that works from here on has written none of it.
    world.audit = AuditLog(world.blobs, world.vault)
    return world


async def change(world: RetentionWorld, number: int, life: Life) -> None:
    found = await head(world)
    background: Any = Forgetful() if number in life.lost else world.background
    service = service_of(**world.writing() | {"background": background})
    if number == life.deleted:
        command = DeleteDocument(
            key=ALPHA, actor=LIVE, precondition=IfMatch(found.commit.etag), idempotency_key=f"delete-{number}"
        )
        await delete_document(command, service)
    else:
        etag = None if found.deleted else found.commit.etag
        result = await patch_document(world.live_command(ALPHA, etag, put("/summary", f"{number}")), service)
        view = await get_document(ALPHA, world.service)
        world.seen.append(Seen(ALPHA, result.change_id, view.etag, view.document, world.clock.now()))
    await world.background.drain()


async def head(world: RetentionWorld) -> Envelope:
    stored = await DocumentStore.get(world.documents, ALPHA)
    assert stored is not None
    return envelope.load(stored.data)


async def listed(world: RetentionWorld) -> list[int]:
    """The changes that a reader gets."""
    page = await list_audit(SCOPE, world.service, namespace="projects", path="alpha.json", limit=1000, cursor=None)
    return [orjson.loads(record)["sequence"] for record in page.items]


async def check_readers(world: RetentionWorld) -> None:
    """No gap, no fault, and every version since the beginning is what was served then."""
    numbers = await listed(world)
    assert numbers == list(range(numbers[0], (await head(world)).commit.sequence + 1))
    assert [one.fault for one in (await world.rebuilt()).values()] == [None, None]
    base = (await world.audit.history(SCOPE, (await head(world)).doc_id)).base
    for seen in world.seen:
        for as_of in (seen.change_id, to_text(seen.at)):
            if int(seen.change_id[-12:]) >= base - 1:
                view = await get_document(ALPHA, world.service, as_of=as_of)
                assert as_of != seen.change_id or (view.etag, view.document) == (seen.etag, seen.data)
            else:
                with pytest.raises(VersionNotFound):
                    await get_document(ALPHA, world.service, as_of=as_of)


@pytest.fixture(params=LIVES)
async def life(request: pytest.FixtureRequest) -> Life:
    return LIVES[request.param]


async def test_after_every_step_every_reader_gets_a_whole_history(life: Life) -> None:
    world = await lived(life)
    before, watch = await world.everything(), AtEach(lambda: check_readers(world))
    dry = await world.retain(dry_run=True)
    assert await world.everything() == before
    with storage_watched(world.blobs, watch):
        applied = await world.retain()
    assert applied.report.tallies["audit"] == dry.report.tallies["audit"]
    removed = life.left[0] - 1 + life.replaced
    assert applied.report.tallies["audit"] == Tally(removed=removed, retained=1 + len(life.left))
    assert applied.report.baselines == dry.report.baselines == 1
    assert await listed(world) == life.left
    history = await world.audit.history(SCOPE, (await head(world)).doc_id)
    assert (history.begins, history.base) == (life.left[0], min(history.baselines))
    assert history.base == history.begins + life.replaced
    if life.left[0] == life.left[-1]:
        assert (await head(world)).commit.position == Position(life.left[0], 0)
    again = await world.everything()
    assert (await world.retain()).report.tallies["audit"].removed == 0
    assert await world.everything() == again


@pytest.mark.parametrize(("applied", "error"), [(False, StopsAt), (True, StopsAt), (True, Unavailable)])
async def test_a_run_that_ended_at_any_call_is_finished_by_the_next(life: Life, applied: bool, error: Any) -> None:
    base = await lived(life)
    world, undisturbed = base.twin(), FallsAt(0, applied=applied)
    with storage_watched(world.blobs, undisturbed):
        await world.retain()
    expected = await world.everything()
    for number, name in enumerate(undisturbed.calls, start=1):
        world = base.twin()
        with storage_watched(world.blobs, FallsAt(number, applied=applied, error=error)), suppress(error):
            await world.retain()
        if error is StopsAt:
            world.audit = AuditLog(world.blobs, world.vault)
        await check_readers(world)
        await world.retain()
        await check_readers(world)
        assert await world.everything() == expected, f"call {number}: {name}"


async def test_a_writer_that_comes_at_any_call_loses_nothing(life: Life) -> None:
    base = await lived(life)
    world, undisturbed = base.twin(), FallsAt(0, applied=False)
    with storage_watched(world.blobs, undisturbed):
        await world.retain()
    for number in range(1, len(undisturbed.calls) + 1):
        world = base.twin()
        # Another process, which remembers the version before.
        other = _process(world)
        await other.documents.get(ALPHA)

        write = partial(change, other, life.left[-1] + 1, life)
        with storage_watched(world.blobs, AtEach(write, number)):
            applied = await world.retain()
        assert applied.report.unreadable.total() == 0
        world.seen = other.seen
        await check_readers(world)
        await world.retain()
        await check_readers(world)
        assert (await world.content(ALPHA))["summary"] == f"{life.left[-1] + 1}"
        assert (await listed(world))[0] >= (1 if life.stays else life.left[0])


async def test_two_runs_at_once_have_the_same_result(life: Life) -> None:
    base = await lived(life)
    world, undisturbed = base.twin(), FallsAt(0, applied=False)
    with storage_watched(world.blobs, undisturbed):
        await world.retain()
    expected = await world.everything()
    for number in range(1, len(undisturbed.calls) + 1):
        world = base.twin()
        other = _process(world)
        with storage_watched(world.blobs, AtEach(other.retain, number)):
            applied = await world.retain()
        assert applied.report.unreadable.total() == 0
        await check_readers(world)
        await world.retain()
        assert await world.everything() == expected


async def test_an_erasure_at_any_call_leaves_no_segment(life: Life) -> None:
    base = await lived(life)
    world, undisturbed = base.twin(), FallsAt(0, applied=False)
    with storage_watched(world.blobs, undisturbed):
        await world.retain()
    for number in range(1, len(undisturbed.calls) + 1):
        world = base.twin()
        storage = storage_of(world.audit)

        async def erase(world: RetentionWorld = world, storage: Any = storage) -> None:
            await world.fences.write(SCOPE, b"{}", replaces=None)
            for name in storage.names(SCOPE.prefix):
                await storage.delete(name)

        with storage_watched(world.blobs, AtEach(erase, number)), suppress(ErasureRunning):
            assert (await world.retain()).report.unreadable.total() == 0
        left = [*storage.names(f"{SCOPE.prefix}audit/"), *storage.names(f"{SCOPE.prefix}documents/")]
        # A request on its way may still create a blob: the erasure waits for it, and scans again.
        assert len(left) == (undisturbed.calls[number - 1] in ("storage.put", "storage.create_log") and bool(left))


def _process(world: RetentionWorld) -> RetentionWorld:
    """Another process on the same storage, which remembers nothing yet."""
    other = RetentionWorld(clock=world.clock, ids=world.ids, catalog=world.catalog)
    other.blobs = world.blobs
    other.__dict__ |= {name: value for name, value in world.__dict__.items() if name not in ("background", "seen")}
    other.seen = list(world.seen)
    other.documents, other.audit = DocumentStore(world.blobs), AuditLog(world.blobs, world.vault)
    return other


async def test_a_writer_that_remembers_the_version_before_decides_again() -> None:
    world = await lived(LIVES["only the newest record is left"])
    other, puts = _process(world), list[str]()
    before = await other.documents.get(ALPHA)
    await world.retain()

    async def count(name: str, call: Call) -> Any:
        puts.append(name)
        return await call()

    etag = envelope.load(before.data).commit.etag if before else ETag("")
    documents = Watched("documents", other.documents, count)
    service = service_of(**other.writing() | {"documents": documents})
    result = await patch_document(other.live_command(ALPHA, etag, put("/summary", "after")), service)
    await other.background.drain()
    assert (result.sequence, puts.count("documents.put")) == (4, 2)
    assert (await head(world)).commit.position == Position(3, 0)
    await check_readers(world)


async def test_a_month_that_has_not_ended_stays() -> None:
    world = RetentionWorld(catalog=replace(CATALOG, ceilings=Ceilings(audit_max_days=5)))
    await world.create_project()
    for number in range(3):
        await world.change(ALPHA, put("/summary", f"{number}"))
    end = datetime(2026, 2, 1, 1, tzinfo=UTC)
    world.clock.advance(end - timedelta(microseconds=1) - world.clock.now())
    # Another segment of the same month has begun.
    assert (await world.retain()).report.tallies["audit"] == Tally(retained=5)
    world.clock.advance(timedelta(microseconds=1))
    assert (await world.retain()).report.tallies["audit"] == Tally(removed=4, retained=2)


async def test_a_long_month_is_removed_with_all_its_segments() -> None:
    world = RetentionWorld()
    await world.create_project()
    for number in range(299):
        await world.live(ALPHA, put("/summary", f"{number}"))
        await world.background.drain()
    history = await world.audit.history(SCOPE, (await head(world)).doc_id)
    assert list(history.segments) == [1, 257]
    world.clock.advance(32 * DAY)
    await world.change(ALPHA, put("/summary", "in February"))
    world.clock.advance(350 * DAY)
    assert (await world.retain()).report.tallies["audit"] == Tally(removed=300, retained=2)
    assert await listed(world) == [301]
    await check_readers(world)


async def test_what_cannot_have_expired_is_not_read() -> None:
    world = RetentionWorld()
    await world.create_project()
    for _ in range(3):
        world.clock.advance(100 * DAY)
        await world.change(ALPHA, put("/summary", "later"))
    calls: list[str] = []

    async def watch(name: str, call: Call) -> Any:
        calls.append(name)
        return await call()

    await world.retain(**world.retention_ports(watch))
    assert {name for name in calls if name.startswith("audit.")} == {"audit.histories"}
    world.clock.advance(65 * DAY)
    calls.clear()
    await world.retain(dry_run=True, **world.retention_ports(watch))
    # The first segment of the project is read to decide, and with the next one to verify its baseline.
    assert calls.count("audit.read") == 1 + 2


async def test_a_lost_baseline_is_derived_before_the_records_are_removed() -> None:
    world = await lived(LIVES["two months and the newest record"])
    doc_id = (await head(world)).doc_id
    await world.audit.delete(SCOPE, doc_id, 4, baseline=True)
    watch = AtEach(lambda: check_readers(world))
    with storage_watched(world.blobs, watch):
        await world.retain()
    assert await listed(world) == [6]


async def test_between_two_batches_under_a_hold_nothing_younger_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memnet.operations.governance.retention_items.BATCH", 1)
    world = await lived(LIVES["two months and the newest record"])
    looks = 0

    async def hold_for_a_while(name: str, call: Call) -> Any:
        nonlocal looks
        looks += name == "holds.list"
        if name == "holds.list" and looks == 3:
            await world.hold()
        if name == "holds.list" and looks == 5:
            await world.release()
        return await call()

    applied = await world.retain(**world.retention_ports(hold_for_a_while))
    assert applied.report.tallies["audit"].on_hold + applied.report.tallies["audit"].deferred == 6
    assert await listed(world) == [1, 2, 3, 4, 5, 6]
    await check_readers(world)
