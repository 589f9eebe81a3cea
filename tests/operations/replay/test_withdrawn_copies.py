"""Sealed copies of what a retraction took out: kept as long as the item would be, and no longer."""

from memnet.domain.catalog.retention_policy import Tally
from memnet.domain.core.user_item import ItemKind
from memnet.domain.governance.withdrawn import Fate, PlannedItem, Withdrawal, WithdrawnKind, register_key
from memnet.operations.governance.retention import apply_retention
from memnet.operations.replay.withdrawn_copies import read_copy
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import WITHDRAWAL, WithdrawnWorld

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
