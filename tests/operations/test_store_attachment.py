"""What came with another user's archive: sealed where it holds memory, once, and nothing else in its place."""

import asyncio

import pytest

from memnet.domain.archive_import import Fate
from memnet.domain.errors import SealBroken, Unavailable
from memnet.domain.record import RecordKey, RecordKind
from memnet.domain.sealing import is_sealed
from memnet.operations.open_attachment import open_attachment
from memnet.operations.store_attachment import store_attachment
from tests.domain.snapshot_samples import SCOPE
from tests.operations.vault_world import VaultWorld

DATA = b'{"note":"what she said"}'


def key(name: str) -> RecordKey:
    return RecordKey(SCOPE, RecordKind.IMPORTS, f"archive/{name}")


async def stored(world: VaultWorld, place: RecordKey) -> bytes:
    found = await world.records.read(place)
    assert found is not None
    return found.data


@pytest.mark.parametrize("name", ["audit/d-000000000001", "baselines/d-000000000001", "earlier/b/audit/d-000000000001"])
async def test_old_records_and_baselines_are_sealed_and_open_again(name: str) -> None:
    world = VaultWorld()
    assert await store_attachment(key(name), DATA, records=world.records, vault=world.vault) is Fate.CREATED
    data = await stored(world, key(name))
    assert is_sealed(data)
    assert b"she said" not in data
    assert await open_attachment(key(name), data, vault=world.vault) == DATA


@pytest.mark.parametrize("name", ["manifest", "runs/20260101T000000Z-id", "auditor", "earlier/audit/runs/x"])
async def test_what_holds_no_memory_is_kept_as_it_is(name: str) -> None:
    world = VaultWorld()
    assert await store_attachment(key(name), DATA, records=world.records, vault=world.vault) is Fate.CREATED
    assert await stored(world, key(name)) == DATA


async def test_without_a_vault_all_is_kept_as_it_is() -> None:
    world, place = VaultWorld(), key("audit/d-000000000001")
    assert await store_attachment(place, DATA, records=world.records, vault=None) is Fate.CREATED
    assert await stored(world, place) == DATA
    # Once there is a vault, what lies open is still the same record.
    assert await store_attachment(place, DATA, records=world.records, vault=world.vault) is Fate.THERE


async def test_the_same_again_is_there_and_another_one_is_kept() -> None:
    world, place = VaultWorld(), key("audit/d-000000000001")
    await store_attachment(place, DATA, records=world.records, vault=world.vault)
    before = await stored(world, place)
    assert await store_attachment(place, DATA, records=world.records, vault=world.vault) is Fate.THERE
    assert await store_attachment(place, b"{}", records=world.records, vault=world.vault) is Fate.KEPT
    assert await stored(world, place) == before


async def test_many_at_once_create_it_once() -> None:
    world, place = VaultWorld(), key("audit/d-000000000001")
    fates = await asyncio.gather(
        *(store_attachment(place, DATA, records=world.records, vault=world.vault) for _ in range(8))
    )
    assert sorted(fates) == [Fate.CREATED] + [Fate.THERE] * 7


async def test_what_does_not_open_is_told() -> None:
    world, place = VaultWorld(), key("audit/d-000000000001")
    await store_attachment(place, DATA, records=world.records, vault=world.vault)
    elsewhere = key("audit/d-000000000002")
    await world.records.write(elsewhere, await stored(world, place), replaces=None)
    with pytest.raises(SealBroken):
        await store_attachment(elsewhere, DATA, records=world.records, vault=world.vault)


async def test_a_store_that_fails_is_told() -> None:
    world, place = VaultWorld(), key("audit/d-000000000001")
    world.records.fate = lambda key: "lost" if key.kind is RecordKind.IMPORTS else None
    with pytest.raises(Unavailable):
        await store_attachment(place, DATA, records=world.records, vault=world.vault)
