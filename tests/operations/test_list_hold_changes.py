"""A hold's history is believed as a whole or not at all."""

import pytest

from memnet.domain.errors import HistoryBroken
from memnet.domain.hold import HoldAction, HoldKey, HoldPlace
from memnet.domain.json_text import canonical
from memnet.operations.find_holds import find_holds
from memnet.operations.list_hold_changes import list_hold_changes
from memnet.operations.read_hold import read_hold
from memnet.operations.tell_hold import tell_hold
from tests.memory_blobs import storage_of
from tests.operations.hold_world import SCOPE, HoldWorld
from tests.operations.retention_world import DAY, RetentionWorld

PLACE, TENANT = HoldPlace("t1", "u1"), HoldPlace("t1")


async def filled(changes: int = 5, place: HoldPlace = PLACE) -> HoldWorld:
    """A hold that was placed and lifted in turn."""
    world = HoldWorld()
    for number in range(changes):
        if place == PLACE:
            await (world.place("case", SCOPE) if number % 2 == 0 else world.release("settled", SCOPE))
        else:
            await (world.place_on_tenant("case") if number % 2 == 0 else world.release_from_tenant("settled"))
    return world


async def test_every_change_in_its_order_over_any_number_of_pages(monkeypatch):
    monkeypatch.setitem(list_hold_changes.__globals__, "PAGE", 2)
    found = await list_hold_changes(PLACE, holds=(await filled()).holds)
    assert [(change.key.number, change.action) for change in found] == [
        (number, HoldAction.PLACED if number % 2 else HoldAction.RELEASED) for number in range(1, 6)
    ]
    assert await list_hold_changes(TENANT, holds=HoldWorld().holds) == []


@pytest.mark.parametrize("place", [PLACE, TENANT])
async def test_one_that_is_taken_out_or_altered_in_the_middle_is_told_to_whoever_asks(place):
    for number in (2, 3, 4):
        for data in (None, b"{}"):
            world = await filled(place=place)
            key = HoldKey(place, number)
            stored = await world.holds.read(key) or b""
            storage_of(world.holds).drop(key.blob_name)
            if data is not None:
                await world.holds.create(key, stored.replace(b"svc-legal", b"svc-other"))
            for ask in (list_hold_changes, read_hold, tell_hold):
                with pytest.raises(HistoryBroken):
                    await ask(place, holds=world.holds)
            with pytest.raises(HistoryBroken):
                await find_holds(SCOPE, holds=world.holds)
            with pytest.raises(HistoryBroken):
                await (world.place("anew") if place == PLACE else world.place_on_tenant("anew"))


async def test_the_oldest_may_be_gone_for_an_erasure_takes_them_and_the_row_goes_on():
    world = await filled(4)
    for number in (1, 2):
        storage_of(world.holds).drop(HoldKey(PLACE, number).blob_name)
    await world.place("anew")
    found = await list_hold_changes(PLACE, holds=world.holds)
    assert [change.key.number for change in found] == [3, 4, 5]
    tenant = await filled(4, TENANT)
    storage_of(tenant.holds).drop(HoldKey(TENANT, 1).blob_name)
    assert len(await list_hold_changes(TENANT, holds=tenant.holds)) == 3


@pytest.mark.parametrize("gone", [1, 2, 4])
async def test_those_that_an_erasure_removes_between_the_list_and_the_reading(gone):
    world = await filled(4)
    inner = world.holds.read

    async def read(key):
        return None if key.number <= gone else await inner(key)

    world.holds.read = read
    if gone < 4:
        found = await list_hold_changes(PLACE, holds=world.holds)
        assert [change.key.number for change in found] == list(range(gone + 1, 5))
    else:
        with pytest.raises(HistoryBroken):
            await list_hold_changes(PLACE, holds=world.holds)


async def unchained(world: HoldWorld, number: int, action: HoldAction) -> None:
    """A change as it was written before there were hashes."""
    key = HoldKey(PLACE, number)
    members = {"hold_version": 1, "tenant_id": "t1", "user_id": "u1", "number": number}
    told = {"action": action.value, "reason": "of before", "actor": "svc-legal", "at": "2025-01-01T00:00:00.000000Z"}
    await world.holds.create(key, canonical(members | told))


async def test_what_was_written_before_is_read_and_what_comes_after_names_it():
    world = HoldWorld()
    await unchained(world, 1, HoldAction.PLACED)
    await unchained(world, 2, HoldAction.RELEASED)
    await world.place("case")
    found = await list_hold_changes(PLACE, holds=world.holds)
    assert [change.previous is None for change in found] == [True, True, False]
    # And none such comes after one that names a hash.
    await unchained(world, 4, HoldAction.RELEASED)
    with pytest.raises(HistoryBroken):
        await list_hold_changes(PLACE, holds=world.holds)


async def test_a_row_that_does_not_hold_stops_every_removal():
    world = RetentionWorld()
    await world.event("evt-1")
    for reason in ("case 1", "case 2", "case 3"):
        await world.hold(reason)
    storage_of(world.holds).drop(HoldKey(HoldPlace("t1", "u1"), 2).blob_name)
    world.clock.advance(1000 * DAY)
    with pytest.raises(HistoryBroken):
        await world.retain()
    assert await world.event_ids() == ["evt-1"]


async def test_the_newest_cut_off_leaves_a_row_that_holds():
    """What docs/security.md says is not stopped, and has the storage itself protect."""
    world = await filled(3)
    storage_of(world.holds).drop(HoldKey(PLACE, 3).blob_name)
    newest = await read_hold(PLACE, holds=world.holds)
    assert newest is not None
    assert not newest.holds
