"""Deleting blobs in batches that are recorded first, and the versions that a storage keeps."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.governance import erasure as erasures
from memnet.domain.governance.erasure import Found, Status
from memnet.operations.governance import erase_user as module
from memnet.operations.governance.erase_user import Erased, erase_blobs, erase_user
from memnet.ports import Page
from memnet.stores import UserStorage
from tests.operations.erasure_scenario import U1, U10, ErasureWorld


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> ErasureWorld:
    monkeypatch.setattr(module, "BATCH", 3)
    monkeypatch.setattr(module, "PAGE", 7)
    made = ErasureWorld()
    for scope in (U1, U10):
        await made.live(scope)
    await made.request()
    return made


async def test_all_blobs_are_deleted_and_counted_over_many_batches(world: Any) -> None:
    before, other = world.stored(U1), world.stored(U10)
    journal = await world.journal()
    assert await erase_blobs(journal) == sum(before.values())
    assert dict(journal.erasure.removed) == before
    assert journal.erasure.batch == ()
    assert world.stored(U1) == {}
    assert world.stored(U10) == other
    assert await erase_blobs(journal) == 0


async def test_the_keys_are_deleted_first(world: Any) -> None:
    removed: list[str] = []

    async def watch(name: str, call: Any) -> Any:
        if name == "storage.delete" and "keys" in world.stored(U1):
            removed.append(name)
        return await call()

    await erase_blobs(await world.journal(watch))
    # The deletes of the first batch begin together; it is the only one with a key left to see.
    assert len(removed) <= module.BATCH


async def test_each_batch_is_recorded_before_it_is_deleted(world: Any) -> None:
    async def watch(name: str, call: Any) -> Any:
        if name == "storage.delete":
            stored = await world.services.erasures.read(U1)
            assert stored is not None
            named = erasures.load(U1, stored.data).batch
            before = world.stored(U1)
            await call()
            gone = sum(before.values()) - sum(world.stored(U1).values())
            assert gone <= len(named)
            assert named
            return None
        return await call()

    await erase_blobs(await world.journal(watch))


@dataclass
class KeepingStorage:
    """A UserStorage that keeps a version of each blob it deletes and, with `days`, what is then deleted of those.

    As "Blob versioning" and "Soft delete for blobs" of Azure's documentation describe it.
    """

    inner: UserStorage
    days: int | None = None
    may_delete_versions: bool = True
    versions: list[Found] = field(default_factory=list)
    kept: list[Found] = field(default_factory=list)

    async def list(self, scope: UserScope, *, limit: int, cursor: str | None) -> Page[Found]:
        page = await self.inner.list(scope, limit=limit, cursor=cursor)
        return page if page.next_cursor else Page([*page.items, *self.versions, *self.kept], None)

    async def delete(self, scope: UserScope, found: Found, *, known_at: datetime) -> None:
        assert found.kept_until is None
        if not found.copy:
            await self.inner.delete(scope, found, known_at=known_at)
            self.versions.append(replace(found, copy=f"versionid=2026-01-01T00:00:0{len(self.versions)}.0000000Z"))
            return
        if not self.may_delete_versions:
            raise Unavailable(dependency="blob_storage")
        self.versions.remove(found)
        if self.days is not None:
            self.kept.append(replace(found, kept_until=known_at + timedelta(days=self.days)))


@pytest.fixture
async def filled() -> ErasureWorld:
    made = ErasureWorld()
    await made.live(U1)
    return made


async def run_twice(filled: ErasureWorld, **changed: Any) -> Erased:
    erasing = replace(filled.erasing(), **changed)
    await erase_user(U1, erasing)
    filled.advance()
    return await erase_user(U1, erasing)


async def test_versions_are_deleted_before_it_is_complete(filled: Any) -> None:
    before = filled.stored(U1)
    erasure_id = (await filled.request()).erasure_id
    storage = KeepingStorage(filled.services.user_storage)
    assert await run_twice(filled, user_storage=storage) is Erased.FINISHED
    assert (filled.stored(U1), storage.versions) == ({}, [])
    status = await filled.status(erasure_id)
    assert status.status is Status.COMPLETE
    assert {kind: status.removed[kind] for kind in before} == before
    assert status.removed["copies"] == sum(before.values())


async def test_without_permission_to_delete_versions_only_current_blobs_are_deleted(filled: Any) -> None:
    erasure_id = (await filled.request()).erasure_id
    storage = KeepingStorage(filled.services.user_storage, may_delete_versions=False)
    assert await run_twice(filled, user_storage=storage) is Erased.FAILING
    assert filled.stored(U1) == {}
    status = await filled.status(erasure_id)
    assert (status.status, dict(status.failing)) == (Status.RUNNING, {"blobs": "UNAVAILABLE"})


async def test_soft_deleted_blobs_make_it_partial(filled: Any) -> None:
    erasure_id = (await filled.request()).erasure_id
    storage = KeepingStorage(filled.services.user_storage, days=7)
    assert await run_twice(filled, user_storage=storage) is Erased.FINISHED
    status = await filled.status(erasure_id)
    assert status.status is Status.PARTIAL
    assert status.receipt is not None
    remains = status.receipt["remaining"]
    assert sum(one["count"] for one in remains) == len(storage.kept)
    assert {(one["reason"], one["covers"]) for one in remains} == {("soft_delete", None)}
    assert status.receipt["recoverable_until"] == max(one["until"] for one in remains)
    # Once the storage has dropped it, the same request under a new key says complete.
    storage.kept.clear()
    again = (await filled.request("forget-2")).erasure_id
    assert await run_twice(filled, user_storage=storage) is Erased.FINISHED
    assert (await filled.status(again)).status is Status.COMPLETE
