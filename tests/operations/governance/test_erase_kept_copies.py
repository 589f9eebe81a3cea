"""Erasing where the storage keeps what was deleted, and where processes know different stores."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.governance.erasure import Found, Status
from memnet.operations.governance.erase_user import Erased, erase_user
from memnet.ports import Page
from memnet.stores import UserStorage
from tests.operations.erasure_scenario import U1, ErasureWorld


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
async def world() -> ErasureWorld:
    made = ErasureWorld()
    await made.live(U1)
    return made


async def run(world: ErasureWorld, **changed: Any) -> Erased:
    erasing = replace(world.erasing(), **changed)
    await erase_user(U1, erasing)
    world.advance()
    return await erase_user(U1, erasing)


async def test_versions_go_too_before_it_says_complete(world: Any) -> None:
    before = world.stored(U1)
    erasure_id = (await world.request()).erasure_id
    storage = KeepingStorage(world.services.user_storage)
    assert await run(world, user_storage=storage) is Erased.FINISHED
    assert (world.stored(U1), storage.versions) == ({}, [])
    status = await world.status(erasure_id)
    assert status.status is Status.COMPLETE
    assert {kind: status.removed[kind] for kind in before} == before
    assert status.removed["copies"] == sum(before.values())


async def test_without_the_right_to_remove_versions_it_does_not_end_and_what_is_current_is_gone(world: Any) -> None:
    erasure_id = (await world.request()).erasure_id
    storage = KeepingStorage(world.services.user_storage, may_delete_versions=False)
    assert await run(world, user_storage=storage) is Erased.FAILING
    assert world.stored(U1) == {}
    status = await world.status(erasure_id)
    assert (status.status, dict(status.failing)) == (Status.RUNNING, {"blobs": "UNAVAILABLE"})


async def test_what_soft_delete_keeps_makes_it_partial_until_then(world: Any) -> None:
    erasure_id = (await world.request()).erasure_id
    storage = KeepingStorage(world.services.user_storage, days=7)
    assert await run(world, user_storage=storage) is Erased.FINISHED
    status = await world.status(erasure_id)
    assert status.status is Status.PARTIAL
    assert status.receipt is not None
    remains = status.receipt["remaining"]
    assert sum(one["count"] for one in remains) == len(storage.kept)
    assert {(one["reason"], one["covers"]) for one in remains} == {("soft_delete", None)}
    assert status.receipt["recoverable_until"] == max(one["until"] for one in remains)
    # Once the storage has dropped it, the same request under a new key says complete.
    storage.kept.clear()
    again = (await world.request("forget-2")).erasure_id
    assert await run(world, user_storage=storage) is Erased.FINISHED
    assert (await world.status(again)).status is Status.COMPLETE
