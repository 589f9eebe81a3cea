"""The ItemStore."""

from functools import partial
from typing import Any

import pytest

from memnet.domain.core.errors import InvalidIdentifier
from memnet.domain.core.scope import StorageETag, UserScope
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.paging import rows
from memnet.ports import StoreConflict
from memnet.stores import ItemStore

SCOPE = UserScope("t1", "u1")
KEY = ItemKey(SCOPE, ItemKind.SNAPSHOTS, "c_1/s_1")
DATA = '{"sealed":"naïve 文档 🙂"}'.encode()


async def listed(
    records: ItemStore, whose: UserScope | str, kind: ItemKind = ItemKind.SNAPSHOTS, limit: int = 2
) -> list[ItemKey]:
    if isinstance(whose, str):
        return [key async for key in rows(partial(records.list_of_tenant, whose, kind), limit)]
    return [key async for key in rows(partial(records.list, whose, kind), limit)]


async def test_a_record_is_created_once(records: Any) -> None:
    tag = await records.write(KEY, DATA, replaces=None)
    for data in (DATA, b"{}"):
        with pytest.raises(StoreConflict):
            await records.write(KEY, data, replaces=None)
    stored = await records.read(KEY)
    assert (stored.data, stored.storage_etag) == (DATA, tag)


async def test_a_record_is_written_over_the_one_that_was_read_alone(records: Any) -> None:
    first = await records.write(KEY, b"1", replaces=None)
    second = await records.write(KEY, b"2", replaces=first)
    assert second != first
    for stale in (first, StorageETag('"0x0"')):
        with pytest.raises(StoreConflict):
            await records.write(KEY, b"3", replaces=stale)
    stored = await records.read(KEY)
    assert (stored.data, stored.storage_etag) == (b"2", second)


async def test_lists_are_of_one_kind_of_one_user_or_of_one_tenant_in_name_order(records: Any) -> None:
    keys = [
        ItemKey(UserScope(tenant, user), kind, name)
        for tenant in ("t1", "t10", "t2")
        for user in ("u1", "u10", "u2")
        for kind in (ItemKind.KEYS, ItemKind.SNAPSHOTS)
        for name in ("c/a", "c/b", "d")
    ]
    for key in reversed(keys):
        await records.write(key, DATA, replaces=None)
    for limit in (1, 3, 100):
        for kind in (ItemKind.KEYS, ItemKind.SNAPSHOTS):
            of_kind = [key for key in keys if key.kind is kind]
            of_tenant = [key for key in of_kind if key.scope.tenant_id == "t1"]
            assert await listed(records, "t1", kind, limit) == of_tenant
            assert await listed(records, SCOPE, kind, limit) == [key for key in of_tenant if key.scope == SCOPE]
    assert await listed(records, SCOPE, ItemKind.REPLAYS) == []
    assert await listed(records, "t3") == []


async def test_a_tenant_is_one_identifier(records: Any) -> None:
    with pytest.raises(InvalidIdentifier):
        await records.list_of_tenant("t1/users/u1", ItemKind.KEYS, limit=1, cursor=None)


async def test_a_record_is_removed_whatever_its_tag_or_with_its_own_alone(records: Any) -> None:
    for _ in range(2):
        await records.write(KEY, b"1", replaces=None)
        await records.delete(KEY)
        await records.delete(KEY)
        assert await records.read(KEY) is None
    first = await records.write(KEY, b"2", replaces=None)
    second = await records.write(KEY, b"3", replaces=first)
    with pytest.raises(StoreConflict):
        await records.delete(KEY, tag=first)
    assert (await records.read(KEY)).data == b"3"
    await records.delete(KEY, tag=second)
    assert await records.read(KEY) is None
    await records.delete(KEY, tag=second)
