"""Records whose document is gone are told of when they are over, and are not removed."""

from dataclasses import replace

import pytest

from memnet.domain.retention import Tally
from memnet.operations.apply_retention import apply_retention
from memnet.operations.list_audit import list_audit
from tests.memory_blobs import storage_of
from tests.operations.erasure_world import U1, ErasureWorld, alpha
from tests.operations.retention_world import (
    ALPHA,
    DAY,
    DYNAMIC,
    SCOPE,
    Between,
    RetentionWorld,
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
    storage_of(world.documents).drop(ALPHA.blob_name)
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


@pytest.mark.parametrize(("days", "kept"), [(64, 4), (65, 3), (165, 2), (265, 1), (365, 0)])
async def test_each_is_judged_by_its_own_time_and_none_is_removed(days, kept):
    """Nobody can tell a document that was taken away from one that an erasure has removed: it can be made of them."""
    world = await orphaned()
    world.clock.advance(days * DAY)
    for dry_run in (True, False):
        assert await tally(world, dry_run=dry_run) == Tally(waiting=4 - kept, kept=kept)
    assert await left(world) == ([1, 2, 3, 4], [])


async def test_a_baseline_is_judged_by_the_time_of_its_change():
    world = await orphaned(baseline=True)
    assert await tally(world, as_of=world.clock.now() - DAY, dry_run=True) == Tally(kept=4)
    world.clock.advance(100 * DAY)
    assert await tally(world) == Tally(waiting=2, kept=2)
    assert await left(world) == ([2, 3, 4], [1])


async def test_beside_histories_that_have_their_document():
    world = await orphaned()
    await world.change(DYNAMIC, put("/preferences", ["short answers"]))
    await world.sweep()
    world.clock.advance(364 * DAY)
    assert await tally(world) == Tally(waiting=3, kept=2)
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
    assert await tally(world) == Tally(waiting=1, kept=3)


async def test_many_are_counted(monkeypatch):
    monkeypatch.setattr("memnet.operations.count_orphans.READ", 1)
    world = await orphaned()
    world.clock.advance(165 * DAY)
    assert await tally(world) == Tally(waiting=2, kept=2)


async def test_what_cannot_be_read_or_speaks_of_another_change_is_counted_and_keeps_nothing_else_from_being_looked_at():
    world = await orphaned()
    world.clock.advance(1000 * DAY)
    (first, second, *_) = await world.changes()
    others = await world.audit.read(SCOPE, second)
    storage_of(world.audit).drop(f"{SCOPE.prefix}audit/{first}.json")
    await world.audit.append(SCOPE, first, others)
    await world.audit.append(SCOPE, "junk", b"[]")
    await world.audit.append_baseline(SCOPE, "junk-000000000001", b'{"tenant_id": 1}')
    storage_of(world.audit).overwrite(f"{SCOPE.prefix}audit/old/x-000000000001.json", b"{}")
    applied = await world.retain()
    assert applied.report.broken == {"audit": 4}
    assert applied.report.tallies["audit"] == Tally(waiting=3)
    assert len(await world.changes()) == 6


# What it is for.


async def test_what_an_erasure_has_left_that_a_hold_stopped_is_shown_and_goes_with_another_one():
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
    assert await retain() == Tally(waiting=1)
    await world.request("forget-2")
    await world.finish()
    assert "audit" not in world.stored(U1)
