"""Removing in batches: written down before it goes, each once, under no hold."""

from typing import Any

import pytest

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.governance import erasure as erasures
from memnet.operations.governance import erase_user as module
from memnet.operations.governance.erase_user import erase_blobs
from memnet.operations.governance.erasure_request import ErasureJournal, resume_erasure
from memnet.ports import StoreConflict
from tests.memory_blobs import unfenced
from tests.operations.erasure_scenario import U1, U10, ErasureWorld
from tests.operations.retention_scenario import Between


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> ErasureWorld:
    monkeypatch.setattr(module, "BATCH", 3)
    monkeypatch.setattr(module, "PAGE", 7)
    made = ErasureWorld()
    for scope in (U1, U10):
        await made.live(scope)
    await made.request()
    return made


async def journal_of(world: ErasureWorld, watch: Any = None) -> ErasureJournal:
    journal = await resume_erasure(U1, world.erasing(watch))
    assert journal is not None
    return journal


async def test_all_is_removed_over_many_batches_and_counted(world: Any) -> None:
    before, other = world.stored(U1), world.stored(U10)
    journal = await journal_of(world)
    assert await erase_blobs(journal) == sum(before.values())
    assert dict(journal.erasure.removed) == before
    assert journal.erasure.batch == ()
    assert world.stored(U1) == {}
    assert world.stored(U10) == other
    assert await erase_blobs(journal) == 0


async def test_the_keys_go_before_anything_else(world: Any) -> None:
    removed: list[str] = []

    async def watch(name: str, call: Any) -> Any:
        if name == "storage.delete" and "keys" in world.stored(U1):
            removed.append(name)
        return await call()

    await erase_blobs(journal=await journal_of(world, watch))
    # The deletes of the first batch begin together; it is the only one with a key left to see.
    assert len(removed) <= module.BATCH


async def test_nothing_goes_before_it_is_written_down(world: Any) -> None:
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

    await erase_blobs(journal=await journal_of(world, watch))


async def test_who_was_overtaken_removes_no_further_batch(world: Any) -> None:
    journal = await journal_of(world)
    other = await journal_of(world)
    await other.note(erasures.counted(other.erasure, {"messages": 1}))
    before = world.stored(U1)
    with pytest.raises(StoreConflict):
        await erase_blobs(journal)
    assert world.stored(U1) == before


async def test_a_delete_that_fails_leaves_its_batch_for_the_next(world: Any) -> None:
    before = world.stored(U1)
    failed: list[str] = []

    async def watch(name: str, call: Any) -> Any:
        if name == "storage.delete" and not failed:
            failed.append(name)
            raise Unavailable(dependency="blob_storage")
        return await call()

    with pytest.raises(Unavailable):
        await erase_blobs(journal=await journal_of(world, watch))
    assert len((await journal_of(world)).erasure.batch) > 0
    journal = await journal_of(world)
    await erase_blobs(journal)
    assert dict(journal.erasure.removed) == before


async def test_what_comes_while_it_is_listed_is_found(world: Any) -> None:
    async def arrive() -> None:
        records = unfenced(world.services.records)
        await records.write(ItemKey(U1, ItemKind.REPLAYS, "late"), b"{}", replaces=None)

    await erase_blobs(journal=await journal_of(world, Between("storage.list", arrive, number=3)))
    assert world.stored(U1) == {}
