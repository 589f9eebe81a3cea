"""The HoldStore and UserDirectory."""

from functools import partial
from typing import Any

import pytest

from memnet.domain.core.errors import InvalidCursor, InvalidIdentifier
from memnet.domain.core.scope import UserScope
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.events.event import EventKey
from memnet.domain.governance.legal_hold import HoldKey, HoldTarget
from memnet.paging import pages as all_pages
from memnet.paging import rows
from memnet.ports import StoreConflict
from memnet.stores import Blobs, EventStore, ItemStore, UserDirectory

PLACE = HoldTarget("t1", "u1")
DATA = '{"reason":"naïve 文档"}'.encode()


async def test_a_change_is_created_once(holds: Any) -> None:
    key = HoldKey(PLACE, 1)
    assert await holds.read(key) is None
    await holds.create(key, DATA)
    for data in (DATA, b"{}"):
        with pytest.raises(StoreConflict):
            await holds.create(key, data)
    assert await holds.read(key) == DATA


async def test_changes_are_listed_by_place_and_by_tenant_in_their_order(holds: Any) -> None:
    places = [HoldTarget("t1"), HoldTarget("t1", "tenant"), PLACE, HoldTarget("t1", "u10"), HoldTarget("t10", "u1")]
    keys = [HoldKey(place, number) for place in places for number in (1, 2, 10)]
    for key in reversed(keys):
        await holds.create(key, DATA)
    for limit in (1, 2, 100):
        for place in places:
            own = [key async for key in rows(partial(holds.list, place), limit)]
            assert own == [key for key in keys if key.target == place]
        of_tenant = [key async for key in rows(partial(holds.list_of_tenant, "t1"), limit)]
        assert of_tenant == keys[:12]
    assert (await holds.list(HoldTarget("t2"), limit=1, cursor=None)).items == []
    with pytest.raises(InvalidIdentifier):
        await holds.list_of_tenant("t1/users", limit=1, cursor=None)
    cursor = (await holds.list(PLACE, limit=1, cursor=None)).next_cursor
    with pytest.raises(InvalidCursor):
        await holds.list(HoldTarget("t1", "u10"), limit=1, cursor=cursor)


@pytest.mark.parametrize("size", [1, 1000])
async def test_the_users_of_one_or_all_tenants_are_listed_once_in_name_order(
    blobs: Blobs, size: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memnet.stores.users.pages", partial(all_pages, size=size))
    scopes = [UserScope(tenant, user) for tenant in ("t1", "t10", "t2") for user in ("u1", "u10", "u2")]
    for scope in scopes:
        await ItemStore(blobs).write(ItemKey(scope, ItemKind.KEYS, "data"), DATA, replaces=None)
        await EventStore(blobs).create(EventKey(scope, "e1"), DATA)
        await EventStore(blobs).create(EventKey(scope, "e2"), DATA)

    async def listed(tenant_id: str | None) -> list[UserScope]:
        return [scope async for found in UserDirectory(blobs).pages(tenant_id) for scope in found]

    assert await listed(None) == scopes
    assert await listed("t10") == scopes[3:6]
    assert await listed("t3") == []
    with pytest.raises(InvalidIdentifier):
        await listed("t1/users")
