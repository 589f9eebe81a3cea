"""Sealed copies of what a retraction took out: kept as long as the item would be, and no longer."""

from datetime import timedelta

from memnet.domain.catalog.retention_policy import Tally
from memnet.domain.core.user_item import ItemKind
from memnet.domain.governance.legal_hold import HoldTarget
from memnet.domain.governance.withdrawn import Fate, PlannedItem, Withdrawal, WithdrawnKind, register_key
from memnet.operations.governance.legal_holds import place_hold
from memnet.operations.governance.retention import apply_retention
from memnet.operations.replay.withdrawn_copies import read_copy
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import ADMIN, WITHDRAWAL, WithdrawnWorld

SNAPSHOT = PlannedItem(WithdrawnKind.SNAPSHOT, "c1/s1", Fate.REMOVE)


async def retain(world: WithdrawnWorld, *, dry_run: bool) -> Tally:
    """What retention does with the copies now."""
    return (await apply_retention(ONE, world.service, as_of=None, dry_run=dry_run)).report.tallies["withdrawn"]


async def test_a_copy_opens_in_its_own_place_alone() -> None:
    world = WithdrawnWorld()
    await world.fill()
    before = world.kept()
    await world.take_out()
    data = await read_copy(ONE, SNAPSHOT, WITHDRAWAL, world.service)
    assert data == before[f"{ONE.prefix}snapshots/c1/s1.json"]
    assert await read_copy(ONE, SNAPSHOT, Withdrawal("rtr-9", WITHDRAWAL.source), world.service) is None


async def test_retention_deletes_a_copy_when_the_item_would_have_expired() -> None:
    """The profile keeps snapshots for 60 days and events for 365; jobs have no limit."""
    world = WithdrawnWorld()
    await world.fill()
    await world.take_out()
    assert len(await world.copies()) == 5
    world.clock.advance(timedelta(days=59))
    assert (await apply_retention(ONE, world.service, as_of=None, dry_run=False)).report.tallies[
        "withdrawn"
    ].removed == 0
    world.clock.advance(timedelta(days=2))
    assert (await apply_retention(ONE, world.service, as_of=None, dry_run=True)).report.tallies[
        "withdrawn"
    ].removed == 1
    assert (await apply_retention(ONE, world.service, as_of=None, dry_run=False)).report.tallies[
        "withdrawn"
    ].removed == 1
    assert "rtr-1/snapshot/c1/s1" not in await world.copies()
    world.clock.advance(timedelta(days=365))
    kept = await world.copies()
    await place_hold(HoldTarget(ONE.tenant_id, ONE.user_id), "A case.", world.service, actor=ADMIN)
    assert (await apply_retention(ONE, world.service, as_of=None, dry_run=False)).report.tallies[
        "withdrawn"
    ].on_hold == 1
    assert await world.copies() == kept


async def test_without_its_copy_an_item_does_not_come_back() -> None:
    world = WithdrawnWorld()
    await world.fill()
    planned = await world.plan()
    await world.take_out()
    page = await world.service.records.list(ONE, ItemKind.WITHDRAWN, limit=100, cursor=None)
    for key in page.items:
        if key != register_key(ONE):
            await world.service.records.delete(key)
    assert await world.put_back(planned) == [False] * 4
