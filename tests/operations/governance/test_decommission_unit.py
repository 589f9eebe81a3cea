"""Deleting what a migration has made superfluous."""

import pytest

from memnet.domain.core.scope import DocumentKey
from memnet.ports import StoredDocument
from tests.operations.migration_scenario import AS_MADE, CONTENT, GLOBAL, OLDEST, SPLIT, TO_10, Migrating
from tests.operations.service_scenario import DYNAMIC, STATIC, CountingDocuments, Service


@pytest.fixture
async def world(service: Service) -> Migrating:
    return Migrating(service)


async def test_a_verified_source_is_deleted(world: Migrating) -> None:
    await world.put()
    await world.run()
    ended = await world.decommission()
    assert (ended.done, ended.differences, ended.postponed) == ([GLOBAL], (), False)
    assert await world.content(GLOBAL) is None
    assert (await world.record(GLOBAL, 2))["note"] == f"decommission by migration {SPLIT}"
    assert await world.verify() == AS_MADE
    assert await world.standings() == []
    await world.check_histories()


async def test_a_second_time_does_nothing(world: Migrating) -> None:
    await world.put()
    await world.run()
    await world.decommission()
    assert (await world.decommission()).done == []


async def test_what_does_not_verify_forbids_it(world: Migrating) -> None:
    etag = await world.put()
    assert [v.key for v in (await world.decommission()).differences] == [STATIC, DYNAMIC]
    await world.run()
    await world.put({**CONTENT, "preferences": ["Newer."]}, over=etag)
    assert [v.key for v in (await world.decommission()).differences] == [DYNAMIC]
    assert await world.content(GLOBAL) is not None


async def test_live_changes_of_what_was_made_do_not_forbid_it(world: Migrating) -> None:
    await world.put()
    await world.run()
    await world.prefer("Use tables.")
    assert (await world.decommission()).done == [GLOBAL]


async def test_in_place_nothing_is_left_over(world: Migrating) -> None:
    await world.put(OLDEST, version="0.8.0")
    await world.run(TO_10)
    assert (await world.decommission(TO_10)).done == []
    assert await world.content(GLOBAL) is not None


class Late(CountingDocuments):
    """Lets the source change after the n-th time it was read."""

    reads = 0
    world: Migrating
    at = 0

    async def get(self, key: DocumentKey) -> StoredDocument | None:
        found = await super().get(key)
        if key == GLOBAL and self.at:
            self.reads += 1
            if self.reads == self.at:
                self.at = 0
                await self.world.prefer("Newer.", GLOBAL)
        return found


@pytest.mark.parametrize("at", [1, 2])
async def test_a_source_that_changes_while_it_is_verified_is_not_deleted(at: int) -> None:
    documents = Late()
    world = Migrating(Service(documents=documents))
    documents.world = world
    await world.put({"profile": {}, "preferences": []})
    await world.run()
    documents.at = at
    ended = await world.decommission()
    assert (ended.done, [v.key for v in ended.differences]) == ([], [DYNAMIC])
    assert (await world.content(GLOBAL))["preferences"] == ["Newer."]
