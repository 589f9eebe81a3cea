"""Legal holds: their history, the users that they cover, and the detection of altered histories."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from memnet.domain.core.errors import HistoryCorrupt, InvalidIdentifier, Unavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.governance.legal_hold import HoldKey, HoldTarget
from memnet.operations.governance import legal_holds
from memnet.operations.governance.legal_holds import holds_covering
from tests.memory_blobs import storage_of
from tests.operations.hold_scenario import ON_TENANT, ON_USER, OTHER, HoldWorld, history_of

U1 = UserScope("t1", "u1")


async def covering(world: HoldWorld, scope: UserScope = U1) -> list[tuple[str, str]]:
    return [(change.covers, change.reason) for change in await holds_covering(scope, world.service)]


async def filled(changes: int = 5, place: HoldTarget = ON_USER) -> HoldWorld:
    """A hold that was placed and released in turn."""
    world = HoldWorld()
    for number in range(changes):
        await (world.place("case", place) if number % 2 == 0 else world.release("settled", place))
    return world


@pytest.mark.parametrize("place", [ON_USER, ON_TENANT])
async def test_a_hold_names_its_actor_time_and_reason(place: Any) -> None:
    world = HoldWorld()
    status = await world.place("case 1", place)
    entry = {"reason": "case 1", "actor": "svc-legal"}
    at = "2026-01-01T00:00:00.000000Z"
    assert status.to_json() == {
        "held": True,
        "holds": [{"covers": "user" if place == ON_USER else "tenant", **entry, "since": at}],
        "changes": [{"action": "placed", **entry, "at": at}],
    }
    world.clock.advance(timedelta(days=1))
    assert await world.place("case 1", place, OTHER) == status
    assert history_of(await world.place("case 2", place, OTHER)) == [("placed", "case 1"), ("placed", "case 2")]


async def test_a_release_is_recorded_once_and_stays_in_the_history() -> None:
    world = HoldWorld()
    assert (await world.release("nothing")).to_json() == {"held": False, "holds": [], "changes": []}
    await world.place("case 1")
    status = await world.release("settled")
    assert (status.covering, history_of(status)) == ([], [("placed", "case 1"), ("released", "settled")])
    assert history_of(await world.release("again")) == history_of(status)
    status = await world.place("case 1")
    assert history_of(status) == [("placed", "case 1"), ("released", "settled"), ("placed", "case 1")]
    assert status.to_json()["held"]


async def test_a_user_is_covered_by_its_own_hold_and_its_tenant_s() -> None:
    world = HoldWorld()
    assert await covering(world) == []
    await world.place("audit", ON_TENANT)
    assert ([one.covers for one in (await world.get()).covering], history_of(await world.get())) == (["tenant"], [])
    await world.place("case 1")
    assert await covering(world) == [("user", "case 1"), ("tenant", "audit")]
    assert history_of(await world.get(ON_TENANT)) == [("placed", "audit")]
    assert [one.reason for one in (await world.get()).covering] == ["case 1", "audit"]
    assert [one.reason for one in (await world.release("settled")).covering] == ["audit"]
    assert await covering(world) == [("tenant", "audit")]
    await world.release("audited", ON_TENANT)
    assert await covering(world) == []


async def test_users_with_similar_ids_are_not_covered() -> None:
    world = HoldWorld()
    await world.place("case 1")
    await world.place("audit", HoldTarget("t2"))
    # A user whose id is that of the tenant's own folder.
    await world.place("odd", HoldTarget("t3", "tenant"))
    for scope in (UserScope("t1", "u10"), UserScope("t10", "u1"), UserScope("t3", "u1")):
        assert await covering(world, scope) == []
    assert await covering(world, UserScope("t2", "u1")) == [("tenant", "audit")]


async def test_the_list_contains_the_holds_in_force_of_one_tenant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(legal_holds, "PAGE", 2)
    world = HoldWorld()
    for user in ("u3", "u1", "u2"):
        await world.place(f"case of {user}", HoldTarget("t1", user))
    await world.release("settled", HoldTarget("t1", "u2"))
    await world.place("audit", ON_TENANT)
    await world.place("elsewhere", HoldTarget("t2", "u1"))
    assert [(change.key.target.user_id, change.reason) for change in await world.list()] == [
        (None, "audit"),
        ("u1", "case of u1"),
        ("u3", "case of u3"),
    ]
    assert await world.list("t3") == []
    with pytest.raises(InvalidIdentifier):
        await world.list("../t1")


@pytest.mark.parametrize("trouble", ["lost", "unconfirmed", "repeated"])
async def test_a_repeated_change_with_an_unknown_outcome_is_recorded_once(trouble: Any) -> None:
    world = HoldWorld()
    for change, expected in ((world.place, ["placed"]), (world.release, ["placed", "released"])):
        world.holds.trouble = trouble
        try:
            await change("case 1")
        except Unavailable:
            await change("case 1")
        assert [action for action, _ in history_of(await world.get())] == expected


async def test_concurrent_changes_are_all_recorded_in_order() -> None:
    world = HoldWorld()
    await asyncio.gather(*(world.place(f"case {number}") for number in range(5)))
    status = await world.get()
    assert sorted(history_of(status)) == [("placed", f"case {number}") for number in range(5)]
    assert [change.key.number for change in status.changes] == [1, 2, 3, 4, 5]
    await asyncio.gather(world.release("settled"), world.place("case 6"))
    status = await world.get()
    assert sorted(history_of(status)[5:]) == [("placed", "case 6"), ("released", "settled")]
    assert bool(status.covering) is status.changes[-1].holds


async def test_changes_are_listed_in_order_over_several_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(legal_holds, "PAGE", 2)
    status = await (await filled()).get()
    assert [(one.key.number, one.holds) for one in status.changes] == [
        (number, number % 2 == 1) for number in range(1, 6)
    ]


@pytest.mark.parametrize("place", [ON_USER, ON_TENANT])
async def test_a_change_that_is_missing_or_altered_in_the_middle_is_reported_by_every_operation(place: Any) -> None:
    for number in (2, 3, 4):
        for data in (None, b"{}"):
            world = await filled(place=place)
            key = HoldKey(place, number)
            stored = await world.holds.read(key) or b""
            storage_of(world.holds).drop(key.blob_name)
            if data is not None:
                await world.holds.create(key, stored.replace(b"svc-legal", b"svc-other"))
            for call in (
                world.get(place),
                world.list(),
                covering(world),
                world.place("n", place),
                world.release("n", place),
            ):
                with pytest.raises(HistoryCorrupt):
                    await call


async def test_the_oldest_changes_may_be_deleted_by_an_erasure() -> None:
    world = await filled(4)
    for number in (1, 2):
        storage_of(world.holds).drop(HoldKey(ON_USER, number).blob_name)
    await world.place("next")
    assert [change.key.number for change in (await world.get()).changes] == [3, 4, 5]
    tenant = await filled(4, ON_TENANT)
    storage_of(tenant.holds).drop(HoldKey(ON_TENANT, 1).blob_name)
    assert len((await tenant.get(ON_TENANT)).changes) == 3


@pytest.mark.parametrize("gone", [1, 2, 4])
async def test_changes_deleted_between_list_and_read_are_skipped_except_the_newest(gone: Any) -> None:
    world = await filled(4)
    inner = world.holds.read

    async def read(key: Any) -> Any:
        return None if key.number <= gone else await inner(key)

    holds: Any = world.holds
    holds.read = read
    if gone < 4:
        assert [change.key.number for change in (await world.get()).changes] == list(range(gone + 1, 5))
    else:
        with pytest.raises(HistoryCorrupt):
            await world.get()


async def test_a_deleted_newest_change_is_not_detected() -> None:
    """What docs/security.md says is not stopped, and has the storage itself protect."""
    world = await filled(3)
    storage_of(world.holds).drop(HoldKey(ON_USER, 3).blob_name)
    assert (await world.get()).covering == []
