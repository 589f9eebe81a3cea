"""A user's data keys: read, made once, opened, and what they seal."""

import asyncio
from base64 import b64decode
from dataclasses import replace
from datetime import timedelta

import orjson
import pytest

from memnet.adapters.process.data_key_cache import ProcessDataKeyCache
from memnet.domain.core.errors import DecryptionFailed, Unavailable, VaultUnavailable
from memnet.domain.core.scope import StorageETag, UserScope
from memnet.domain.core.user_item import ItemKind
from memnet.domain.replay.snapshot import snapshot_key
from memnet.domain.sealing import data_keys
from memnet.domain.sealing.data_keys import DataKeys, data_keys_key
from memnet.domain.sealing.sealing import DataKey
from memnet.operations.sealing import rotate_keys
from memnet.ports import StoreConflict
from memnet.stores import KeyRing, Vault, read_data_keys
from memnet.stores.key_ring import ATTEMPTS
from tests.domain.snapshot_samples import SCOPE, snapshot
from tests.operations.vault_scenario import VaultWorld

# The wrapped keys are read without a vault.


async def test_they_are_read_with_their_tag_and_without_the_vault() -> None:
    world = VaultWorld()
    assert await read_data_keys(SCOPE, records=world.records) is None
    await KeyRing(world.vault).seal(snapshot().key, b"x")
    world.keys.down = True
    found = await read_data_keys(SCOPE, records=world.records)
    stored = await world.records.read(data_keys_key(SCOPE))
    assert stored is not None
    assert found == (await world.data_keys(), stored.storage_etag)


# A new data key goes behind those that were read, or nowhere.


async def test_the_first_one_and_the_next_one() -> None:
    world = VaultWorld()
    first = await KeyRing(world.vault).add(SCOPE, None, None)
    found = await read_data_keys(SCOPE, records=world.records)
    assert found is not None
    second = await KeyRing(world.vault).add(SCOPE, *found)
    kept = await world.data_keys()
    assert [await KeyRing(world.vault).unwrap(SCOPE, key) for key in kept.keys] == [first, second]
    assert kept.current.key_id == second.key_id
    assert first.secret != second.secret


@pytest.mark.parametrize("tag", [None, StorageETag('"stale"')])
async def test_keys_that_were_changed_meanwhile_stay(tag: StorageETag | None) -> None:
    world = VaultWorld()
    await KeyRing(world.vault).add(SCOPE, None, None)
    before = await world.data_keys()
    with pytest.raises(StoreConflict):
        await KeyRing(world.vault).add(SCOPE, before, tag)
    assert await world.data_keys() == before


# The key that seals is the one that is stored last, and it is remembered.


async def test_who_has_no_key_gets_none_and_none_is_made() -> None:
    world = VaultWorld()
    assert await KeyRing(world.vault).current(SCOPE) is None
    assert world.steps.seen == ["read keys"]


async def test_a_vault_that_is_down_and_unusable_keys_are_errors() -> None:
    world = VaultWorld()
    await KeyRing(world.vault).add(SCOPE, None, None)
    world.keys.down = True
    with pytest.raises(VaultUnavailable):
        await KeyRing(world.vault).current(SCOPE)
    stored = await world.records.read(data_keys_key(SCOPE))
    assert stored is not None
    await world.records.write(data_keys_key(SCOPE), b"{}", replaces=stored.storage_etag)
    with pytest.raises(DecryptionFailed):
        await KeyRing(world.vault).current(SCOPE)


# Every caller gets the stored key; the first one is created once.


def process(world: VaultWorld) -> Vault:
    """A process with a memory of its own."""
    return replace(world.vault, cache=ProcessDataKeyCache(world.clock))


async def test_many_who_need_the_first_key_get_the_same() -> None:
    world = VaultWorld()
    vaults = [process(world) for _ in range(8)]
    keys = await asyncio.gather(*(KeyRing(vault).get_or_create(SCOPE) for vault in vaults))
    assert len(set(keys)) == 1
    assert [key.key_id for key in (await world.data_keys()).keys] == [keys[0].key_id]


async def test_what_is_remembered_is_not_read_again_until_it_is_too_old() -> None:
    world = VaultWorld()
    vault = process(world)
    key = await KeyRing(vault).get_or_create(SCOPE)
    world.steps.seen.clear()
    world.keys.down = True
    assert await KeyRing(vault).get_or_create(SCOPE) == key
    assert world.steps.seen == []
    world.clock.advance(timedelta(seconds=60))
    with pytest.raises(VaultUnavailable):
        await KeyRing(vault).get_or_create(SCOPE)
    world.keys.down = False
    assert await KeyRing(vault).get_or_create(SCOPE) == key


async def test_who_rotates_seals_with_the_new_key_at_once_and_the_others_within_a_minute() -> None:
    world = VaultWorld()
    here, there = process(world), process(world)
    old = await KeyRing(here).get_or_create(SCOPE)
    assert await KeyRing(there).get_or_create(SCOPE) == old
    await rotate_keys(SCOPE.tenant_id, SCOPE.user_id, vault=here)
    new = await KeyRing(here).get_or_create(SCOPE)
    assert new != old
    assert await KeyRing(there).get_or_create(SCOPE) == old
    world.clock.advance(timedelta(seconds=60))
    assert await KeyRing(there).get_or_create(SCOPE) == new


@pytest.mark.parametrize("fate", ["lost", "unconfirmed"])
async def test_a_key_that_is_not_known_to_be_stored_is_neither_returned_nor_remembered(fate: str) -> None:
    world = VaultWorld()
    vault = process(world)
    world.records.fate = lambda key: fate if key.kind is ItemKind.KEYS else None
    with pytest.raises(Unavailable):
        await KeyRing(vault).get_or_create(SCOPE)
    assert vault.cache is not None
    assert vault.cache.current(SCOPE) is None
    world.records.fate = lambda key: None
    key = await KeyRing(vault).get_or_create(SCOPE)
    assert [stored.key_id for stored in (await world.data_keys()).keys] == [key.key_id]


# A data key opens with the version of the tenant's key that wrapped it, for its user alone.


# Keys are opened at once, and those that do not open are not there.


async def keyed(number: int) -> tuple[VaultWorld, list[DataKey]]:
    """A user with so many keys."""
    world, made = VaultWorld(), list[DataKey]()
    for _ in range(number):
        found = await read_data_keys(SCOPE, records=world.records) or (None, None)
        made.append(await KeyRing(world.vault).add(SCOPE, *found))
    world.steps.seen.clear()
    return world, made


async def test_all_are_opened_with_one_read_and_unknown_ones_are_left_out() -> None:
    world, made = await keyed(3)
    wanted = [made[0].key_id, made[2].key_id, "unknown"]
    assert await KeyRing(world.vault).find(SCOPE, wanted) == {key.key_id: key for key in (made[0], made[2])}
    assert world.steps.seen == ["read keys"]


async def test_what_is_remembered_is_not_read() -> None:
    world, made = await keyed(2)
    vault = replace(world.vault, cache=ProcessDataKeyCache(world.clock))
    ids = {key.key_id for key in made}
    first = await KeyRing(vault).find(SCOPE, ids)
    world.keys.down = True
    assert await KeyRing(vault).find(SCOPE, ids) == first
    assert world.steps.seen == ["read keys"]
    with pytest.raises(VaultUnavailable):
        await KeyRing(world.vault).find(SCOPE, ids)


async def test_a_key_that_does_not_open_is_not_there_and_the_others_are() -> None:
    world, made = await keyed(2)
    stored = await world.records.read(data_keys_key(SCOPE))
    assert stored is not None
    first, second = data_keys.load(stored.data).keys
    spoilt = DataKeys([replace(first, ciphertext=bytes(len(first.ciphertext))), second])
    tag = await world.records.write(data_keys_key(SCOPE), data_keys.dump(spoilt), replaces=stored.storage_etag)
    ids = {key.key_id for key in made}
    assert await KeyRing(world.vault).find(SCOPE, ids) == {made[1].key_id: made[1]}
    await world.records.write(data_keys_key(SCOPE), b"{}", replaces=tag)
    assert await KeyRing(world.vault).find(SCOPE, ids) == {}


# A user's first sealed record brings the data key with it; any number of processes end with one.


KEY = snapshot_key(SCOPE, "c_1", "s_1")


async def test_what_is_sealed_opens_and_says_nothing() -> None:
    world = VaultWorld()
    sealed = await KeyRing(world.vault).seal(KEY, b"what was said")
    assert b"what was said" not in sealed
    assert await KeyRing(world.vault).unseal(KEY, sealed) == b"what was said"


async def test_keys_at_rest_are_wrapped() -> None:
    world = VaultWorld()
    key = await KeyRing(world.vault).get_or_create(SCOPE)
    stored = await world.records.read(data_keys_key(SCOPE))
    assert stored is not None
    (row,) = orjson.loads(stored.data)["data_keys"]
    assert len(b64decode(row["ciphertext"])) == 32 + 16
    assert key.secret not in b64decode(row["ciphertext"])


async def test_a_user_has_one_data_key_and_every_user_their_own() -> None:
    world = VaultWorld()
    for scope in (SCOPE, SCOPE, UserScope("t1", "u2"), UserScope("t2", "u1")):
        await KeyRing(world.vault).seal(snapshot_key(scope, "c", "s"), b"x")
    found = [await world.data_keys(scope) for scope in (SCOPE, UserScope("t1", "u2"), UserScope("t2", "u1"))]
    assert [len(keys.keys) for keys in found] == [1, 1, 1]
    assert len({keys.current.key_id for keys in found}) == 3


async def test_the_same_again_is_sealed_otherwise() -> None:
    world = VaultWorld()
    assert await KeyRing(world.vault).seal(KEY, b"x") != await KeyRing(world.vault).seal(KEY, b"x")


async def test_a_first_key_whose_write_was_sent_twice_is_the_key() -> None:
    world = VaultWorld()
    world.records.fate = lambda key: "repeated" if key.kind is ItemKind.KEYS else None
    sealed = await KeyRing(world.vault).seal(KEY, b"x")
    assert await KeyRing(world.vault).unseal(KEY, sealed) == b"x"


async def test_without_the_vault_nothing_is_sealed_and_no_key_is_left() -> None:
    world = VaultWorld()
    world.keys.down = True
    with pytest.raises(VaultUnavailable):
        await KeyRing(world.vault).seal(KEY, b"x")
    assert (await world.records.list(SCOPE, ItemKind.KEYS, limit=9, cursor=None)).items == []


async def test_keys_that_do_not_open_are_not_replaced() -> None:
    world = VaultWorld()
    for scope in (SCOPE, UserScope("t1", "u2")):
        await KeyRing(world.vault).seal(snapshot_key(scope, "c", "s"), b"x")
    await world.swap(data_keys_key(SCOPE), data_keys_key(UserScope("t1", "u2")))
    with pytest.raises(DecryptionFailed):
        await KeyRing(world.vault).seal(KEY, b"x")


async def test_a_store_that_never_shows_the_winner_is_unavailable() -> None:
    world = VaultWorld()
    world.records.fate = lambda key: "repeated"
    world.records.read = nothing  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        await KeyRing(world.vault).seal(KEY, b"x")
    assert world.steps.seen == ["write keys"] * ATTEMPTS


async def nothing(key: object) -> None:
    await asyncio.sleep(0)


# A sealed record opens in its place, as long as its user's keys are there and the vault answers.


async def test_not_even_with_the_other_users_keys() -> None:
    """Who can write to the storage moves the record and the keys alike."""
    world, other = VaultWorld(), UserScope("t1", "u2")
    sealed = await KeyRing(world.vault).seal(KEY, b"x")
    await KeyRing(world.vault).seal(snapshot_key(other, "c", "s"), b"x")
    await world.swap(data_keys_key(SCOPE), data_keys_key(other))
    for place in (KEY, snapshot_key(other, "c_1", "s_1")):
        with pytest.raises(DecryptionFailed):
            await KeyRing(world.vault).unseal(place, sealed)


async def test_without_its_key_it_does_not_open() -> None:
    world = VaultWorld()
    sealed = await KeyRing(VaultWorld().vault).seal(KEY, b"x")
    with pytest.raises(DecryptionFailed):
        await KeyRing(world.vault).unseal(KEY, sealed)
    await KeyRing(world.vault).seal(KEY, b"x")
    await rotate_keys("t1", "u1", vault=world.vault)
    renamed = sealed.replace(b"00000000-0000", b"00000000-0001")
    with pytest.raises(DecryptionFailed):
        await KeyRing(world.vault).unseal(KEY, renamed)


async def test_without_the_vault_nothing_opens() -> None:
    world = VaultWorld()
    sealed = await KeyRing(world.vault).seal(KEY, b"x")
    world.keys.down = True
    with pytest.raises(VaultUnavailable):
        await KeyRing(world.vault).unseal(KEY, sealed)
