"""Records whose document is gone are removed when they are over, and none that a document still needs."""

from dataclasses import replace

import pytest

from memnet.domain.errors import ErasureRunning
from memnet.domain.retention import Tally
from memnet.operations.apply_retention import apply_retention
from memnet.operations.list_audit import list_audit
from memnet.operations.remove_due import remove_due
from tests.operations.erasure_world import U1, ErasureWorld, alpha
from tests.operations.retention_world import (
    ALPHA,
    DAY,
    DYNAMIC,
    SCOPE,
    Between,
    FallsAt,
    RetentionWorld,
    StopsAt,
    put,
)


async def orphaned(*, baseline: bool = False) -> RetentionWorld:
    """A change of the project every hundred days, the first of which created it; then its document is gone."""
    world = RetentionWorld()
    await world.replace(ALPHA, {"summary": "first", "facets": {}, "recent_notes": []})
    for number in range(2, 5):
        world.clock.advance(100 * DAY)
        await world.change(ALPHA, put("/summary", f"change {number}"))
    await world.sweep()
    if baseline:
        world.clock.advance(65 * DAY)
        await world.retain()
    world.documents.drop(ALPHA.blob_name)
    return world


async def left(world: RetentionWorld) -> tuple[list[int], list[int]]:
    """The numbers of the changes that have a record, and of those that have a baseline."""
    found = (
        await world.audit.list(SCOPE, "", limit=100, cursor=None),
        await world.audit.list_baselines(SCOPE, "", limit=100, cursor=None),
    )
    records, baselines = ([int(change.rpartition("-")[2]) for change in page.items] for page in found)
    return records, baselines


async def tally(world: RetentionWorld, **members) -> Tally:
    applied = await world.retain(**members)
    assert applied.report.broken.total() == 0
    assert applied.report.baselines == 0
    return applied.report.tallies["audit"]


@pytest.mark.parametrize(("days", "stay"), [(64, [1, 2, 3, 4]), (65, [2, 3, 4]), (165, [3, 4]), (265, [4]), (365, [])])
async def test_each_goes_by_its_own_time(days, stay):
    world = await orphaned()
    world.clock.advance(days * DAY)
    counted = Tally(removed=4 - len(stay), kept=len(stay))
    assert await tally(world, dry_run=True) == counted
    assert await left(world) == ([1, 2, 3, 4], [])
    assert await tally(world) == counted
    assert await left(world) == (stay, [])
    assert await tally(world) == Tally(kept=len(stay))


async def test_a_baseline_goes_by_the_time_of_its_change():
    world = await orphaned(baseline=True)
    assert await left(world) == ([2, 3, 4], [1])
    assert await tally(world, as_of=world.clock.now() - DAY, dry_run=True) == Tally(kept=4)
    world.clock.advance(100 * DAY)
    assert await tally(world) == Tally(removed=2, kept=2)
    assert await left(world) == ([3, 4], [])


async def test_beside_histories_that_have_their_document():
    world = await orphaned()
    await world.change(DYNAMIC, put("/preferences", ["short answers"]))
    await world.sweep()
    world.clock.advance(364 * DAY)
    assert await tally(world) == Tally(removed=3, kept=2)
    assert (await world.rebuilt())[DYNAMIC].fault is None


async def test_one_profile_s_longer_rule_keeps_what_follows():
    world = await orphaned()
    profiles = dict(world.catalog.profiles)
    short = profiles["project-copilot-v1"]
    longer = short.retention_rules.model_copy(update={"audit_days": 500})
    profiles["project-copilot-v1"] = short.model_copy(update={"retention_rules": longer})
    world.catalog = replace(world.catalog, profiles=profiles)
    world.clock.advance(199 * DAY)
    assert await tally(world) == Tally(kept=4)
    world.clock.advance(DAY)
    assert await tally(world) == Tally(removed=1, kept=3)


async def test_a_hold_keeps_them_and_says_so():
    world = await orphaned(baseline=True)
    world.clock.advance(1000 * DAY)
    await world.hold()
    assert await tally(world) == Tally(held=4)
    assert await left(world) == ([2, 3, 4], [1])


async def test_what_cannot_be_read_or_speaks_of_another_change_stays_and_is_counted():
    world = await orphaned()
    world.clock.advance(1000 * DAY)
    (first, second, *_) = await world.changes()
    others = await world.audit.read(SCOPE, second)
    world.audit.drop(f"{SCOPE.prefix}audit/{first}.json")
    await world.audit.append(SCOPE, first, others)
    await world.audit.append(SCOPE, "junk", b"[]")
    await world.audit.append_baseline(SCOPE, "junk-000000000001", b'{"tenant_id": 1}')
    applied = await world.retain()
    assert applied.report.broken == {"audit": 3}
    assert applied.report.tallies["audit"] == Tally(removed=3)
    assert await world.changes() == [first, "junk"]


async def test_beside_a_document_that_cannot_be_read_nothing_goes():
    """It may be the one that they belong to."""
    world = await orphaned()
    await world.change(DYNAMIC, put("/preferences", ["short answers"]))
    stored = await world.documents.get(DYNAMIC)
    summary = (await world.documents.list(SCOPE, "", limit=9, cursor=None)).items[0].summary
    await world.documents.put(DYNAMIC, b"{}", summary, replaces=stored.storage_etag)
    world.clock.advance(1000 * DAY)
    applied = await world.retain()
    assert applied.report.broken == {"audit": 1}
    assert (await left(world))[0][:4] == [1, 2, 3, 4]


async def test_many_are_removed_batch_by_batch(monkeypatch):
    world = await orphaned()
    world.clock.advance(1000 * DAY)
    monkeypatch.setitem(remove_due.__globals__, "BATCH", 2)
    assert await tally(world, **world.retention_ports(Between("audit.delete", world.hold))) == Tally(removed=2, held=2)
    assert await left(world) == ([3, 4], [])


async def test_an_erasure_that_has_begun_meanwhile_removes_them_itself():
    world = await orphaned()
    world.clock.advance(1000 * DAY)
    world.documents._fences = world.fences

    async def begin() -> None:
        await world.fences.write(SCOPE, b"{}", replaces=None)

    with pytest.raises(ErasureRunning):
        await world.retain(**world.retention_ports(Between("audit.list", begin)))
    assert await left(world) == ([1, 2, 3, 4], [])


# An import that is under way has put its records first; it may put its document at any moment.


@pytest.mark.parametrize(
    ("call", "number"),
    [
        ("documents.list", 2),
        ("documents.list", 3),
        ("documents.list", 4),
        ("audit.delete", 1),
        ("audit.delete", 2),
        ("audit.delete_baseline", 1),
    ],
)
async def test_a_document_that_comes_meanwhile_has_all_its_records(call, number):
    world = RetentionWorld()
    await world.replace(ALPHA, {"summary": "first", "facets": {}, "recent_notes": []})
    for summary in ("second", "third"):
        world.clock.advance(DAY)
        await world.change(ALPHA, put("/summary", summary))
    await world.sweep()
    world.clock.advance(363 * DAY)
    await world.retain()
    stored = await world.documents.get(ALPHA)
    summary = (await world.documents.list(SCOPE, "", limit=9, cursor=None)).items[0].summary
    assert await left(world) == ([2, 3], [1])
    before = await world.everything()
    world.documents.drop(ALPHA.blob_name)
    world.clock.advance(1000 * DAY)

    async def come() -> None:
        await world.documents.put(ALPHA, stored.data, summary, replaces=None)

    between = Between(call, come, number)
    counted = await tally(world, **world.retention_ports(between))
    assert between.count >= number
    # Not yet an orphan when it was looked at, or put off to the next run.
    assert counted in (Tally(), Tally(postponed=3))
    assert await world.everything() == before
    assert (await world.rebuilt())[ALPHA].fault is None


@pytest.mark.parametrize("applied", [False, True])
async def test_interrupted_at_any_call_and_run_again_the_end_is_the_same(applied):
    async def made() -> RetentionWorld:
        world = await orphaned(baseline=True)
        world.clock.advance(200 * DAY)
        return world

    counter, twin = FallsAt(0, applied=False), await made()
    await twin.retain(**twin.retention_ports(counter))
    assert await left(twin) == ([4], [])
    assert {"audit.delete", "audit.delete_baseline"} <= set(counter.calls)
    for number in range(1, len(counter.calls) + 1):
        world = await made()
        with pytest.raises(StopsAt):
            await world.retain(**world.retention_ports(FallsAt(number, applied=applied)))
        await world.retain()
        assert await left(world) == ([4], [])


# What it is for.


async def test_what_an_erasure_has_left_that_a_hold_stopped_is_shown_and_goes_one_day():
    world = ErasureWorld()
    services = world.services
    await world.patch(U1, "first")
    await services.background.drain()
    await world.request()
    await world.run(watch=Between("storage.list", world.hold))
    await world.finish()
    await world.release()
    assert await services.documents.get(alpha(U1)) is None
    page = await list_audit(
        U1, namespace=None, path=None, limit=9, cursor=None, documents=services.documents, audit=services.audit
    )
    assert len(page.items) == world.stored(U1)["audit"] == 1

    async def retain() -> Tally:
        names = ("documents", "audit", "events", "search", "records", "vault", "marks", "holds", "catalog", "clock")
        ports = {name: getattr(services, name) for name in names}
        return (await apply_retention(U1, as_of=None, dry_run=False, **ports)).report.tallies["audit"]

    world.advance(364 * DAY)
    assert await retain() == Tally(kept=1)
    world.advance(DAY)
    assert await retain() == Tally(removed=1)
    assert "audit" not in world.stored(U1)
