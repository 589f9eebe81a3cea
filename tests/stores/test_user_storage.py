"""The UserStorage: all that is stored about a user, and the removal of what was listed."""

from typing import Any

import pytest

from memnet.domain.core.errors import InvalidCursor
from memnet.domain.core.job import OF_USERS, Job, JobKind
from memnet.domain.core.scope import StorageETag, UserScope
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.governance.erasure import Found, TenantScope, fence_name, is_of, user_of
from memnet.domain.governance.legal_hold import HoldKey, HoldTarget
from memnet.domain.upkeep.marks import DUE
from memnet.ports import StoreConflict
from memnet.stores import Blobs
from tests.stores.all_stores import (
    DATA,
    Stores,
    fill,
    found_in,
    listed,
    now,
    stores_over,
)

ONE = UserScope("t1", "u1")
NEIGHBOURS = [UserScope("t1", "u10"), UserScope("t10", "u1"), UserScope("u1", "t1"), UserScope("t1", "u1-a")]
NOBODY = UserScope("t9", "u9")


@pytest.fixture
def stores(blobs: Blobs) -> Stores:
    """All stores, empty."""
    return stores_over(blobs)


class TestUserStorage:
    async def test_it_lists_the_keys_first_and_everything_once_in_pages_of_any_size(self, stores: Any) -> None:
        for scope in (ONE, *NEIGHBOURS):
            await fill(stores, scope, "a", "b")
        # Documents, audit, baselines, events, their marks, marks of turns, a record of each kind, a mark of each kind
        # of job, a hold, a due mark; and one changed mark.
        expected = 2 * (6 + len(ItemKind) + len(OF_USERS) + 1 + 1) + 1
        for scope in (ONE, *NEIGHBOURS):
            whole = await listed(stores.storage, scope)
            assert len(whole) == len(set(whole)) == expected
            assert all(is_of(scope, name) for name in whole)
            keys = [name for name in whole if name.startswith(f"{scope.prefix}keys/")]
            assert keys == whole[:2]
            for limit in (1, 2, 3, 7):
                assert await listed(stores.storage, scope, limit) == whole
        assert await listed(stores.storage, NOBODY) == []

    async def test_it_removes_what_it_lists_and_nothing_else(self, stores: Any) -> None:
        for scope in (ONE, *NEIGHBOURS):
            await fill(stores, scope, "a")
        before = {scope: await listed(stores.storage, scope) for scope in NEIGHBOURS}
        for found in await found_in(stores.storage, ONE):
            await stores.storage.delete(ONE, found, known_at=now())
            assert found.name not in await listed(stores.storage, ONE)
            await stores.storage.delete(ONE, found, known_at=now())
        assert await listed(stores.storage, ONE) == []
        assert {scope: await listed(stores.storage, scope) for scope in NEIGHBOURS} == before
        marked = {found.job.scope for found in (await stores.marks.list(limit=100, cursor=None)).items}
        assert marked == set(NEIGHBOURS)

    async def test_what_has_become_something_else_is_left(self, stores: Any) -> None:
        """A process that stood still must not remove what a user has stored since an erasure."""
        await fill(stores, ONE, "a")
        before = await found_in(stores.storage, ONE)
        key = ItemKey(ONE, ItemKind.REPLAYS, "a/a")
        (old,) = [found for found in before if found.name == key.blob_name]
        tag = (await stores.records.read(key)).storage_etag
        await stores.records.write(key, b"2", replaces=tag)
        with pytest.raises(StoreConflict):
            await stores.storage.delete(ONE, old, known_at=now())
        assert (await stores.records.read(key)).data == b"2"
        (new,) = [found for found in await found_in(stores.storage, ONE) if found.name == key.blob_name]
        assert new.tag != old.tag
        await stores.storage.delete(ONE, new, known_at=now())
        assert await stores.records.read(key) is None
        # A blob that was deleted and created again differs, though its bytes are the same.
        for found in await found_in(stores.storage, ONE):
            await stores.storage.delete(ONE, found, known_at=now())
        await fill(stores, ONE, "a")
        for found in before:
            with pytest.raises(StoreConflict):
                await stores.storage.delete(ONE, found, known_at=now())
        assert await listed(stores.storage, ONE) == [found.name for found in before]

    async def test_another_s_names_are_refused(self, stores: Any) -> None:
        theirs: list[str] = []
        for scope in NEIGHBOURS:
            await fill(stores, scope, "a")
            theirs += await listed(stores.storage, scope)
        await stores.erasures.write(ONE, DATA, replaces=None)
        await stores.marks.mark(Job(JobKind.REINDEX, "t1", None, "j1"))
        for name in (
            *theirs,
            fence_name(ONE),
            "erasures/t1/e1.json",
            "repairs/jobs/reindex/t1/-/j1",
            f"{ONE.prefix}../u10/documents/projects/a",
            f"{ONE.prefix}documents/../../u10/keys/a.json",
            ONE.prefix.removesuffix("/"),
            "",
        ):
            with pytest.raises(ValueError, match="not the user's"):
                await stores.storage.delete(ONE, Found(name, StorageETag('"0x1"')), known_at=now())
        for scope in NEIGHBOURS:
            assert set(await listed(stores.storage, scope)) <= set(theirs)
        assert sum([len(await listed(stores.storage, scope)) for scope in NEIGHBOURS]) == len(theirs)
        assert await stores.erasures.read(ONE) is not None
        assert len((await stores.marks.list(limit=100, cursor=None)).items) == len(OF_USERS) * len(NEIGHBOURS) + 1

    async def test_a_tenant_is_listed_with_its_own_blobs_and_deleted(self, stores: Any) -> None:
        tenant, place = TenantScope("t1"), HoldTarget("t1")
        for scope in (ONE, *NEIGHBOURS):
            await fill(stores, scope, "a")
            await stores.erasures.write(scope, DATA, replaces=None)
        await stores.erasures.create_receipt("t1", "e1", DATA)
        await stores.erasures.write_end("t1", DATA, replaces=None, runs=True)
        await stores.marks.mark(Job(JobKind.REINDEX, "t1", None, "j1"))
        await stores.marks.mark(Job(JobKind.REINDEX, "t10", None, "j1"))
        await stores.holds.create(HoldKey(place, 1), b"{}")
        users = [scope for scope in (ONE, *NEIGHBOURS) if scope.tenant_id == "t1"]
        others = {scope: await listed(stores.storage, scope) for scope in NEIGHBOURS if scope not in users}
        expected = {name for scope in users for name in await listed(stores.storage, scope)}
        # The erasures of the users delete their due marks.
        expected = {name for name in expected if not name.startswith(DUE)}
        expected |= {f"{place.prefix}000000000001.json", "repairs/jobs/reindex/t1/-/j1"}
        for limit in (3, 1000):
            found = await found_in(stores.storage, tenant, limit)
            assert sorted(one.name for one in found) == sorted(expected)
        assert {user_of(tenant, one.name) for one in found} == {*users, None}
        for one in found:
            await stores.storage.delete(tenant, one, known_at=now())
        assert await listed(stores.storage, tenant) == []
        assert {scope: await listed(stores.storage, scope) for scope in others} == others
        name = others[UserScope("t10", "u1")][0]
        with pytest.raises(ValueError, match="not the user's"):
            await stores.storage.delete(tenant, Found(name, StorageETag('"0x1"')), known_at=now())

    async def test_a_cursor_serves_its_own_list_only(self, stores: Any) -> None:
        await fill(stores, ONE, "a")
        cursor = (await stores.storage.list(ONE, limit=1, cursor=None)).next_cursor
        assert cursor is not None
        for scope, wrong in ((NEIGHBOURS[0], cursor), (ONE, "AAAA"), (ONE, "")):
            with pytest.raises(InvalidCursor):
                await stores.storage.list(scope, limit=1, cursor=wrong)
