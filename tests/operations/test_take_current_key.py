"""Whoever needs a key gets the stored one; the first one is made once, however many need it."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from memnet.adapters.process.data_key_cache import ProcessDataKeyCache
from memnet.domain.errors import Unavailable, VaultUnavailable
from memnet.domain.record import RecordKind
from memnet.operations.rotate_keys import rotate_keys
from memnet.operations.take_current_key import take_current_key
from memnet.stores import Vault
from tests.domain.snapshot_samples import SCOPE
from tests.operations.vault_world import VaultWorld


def process(world: VaultWorld) -> Vault:
    """A process with a memory of its own."""
    return replace(world.vault, cache=ProcessDataKeyCache(world.clock))


async def test_many_who_need_the_first_key_get_the_same() -> None:
    world = VaultWorld()
    vaults = [process(world) for _ in range(8)]
    keys = await asyncio.gather(*(take_current_key(SCOPE, vault=vault) for vault in vaults))
    assert len(set(keys)) == 1
    assert [key.key_id for key in (await world.data_keys()).keys] == [keys[0].key_id]


async def test_what_is_remembered_is_not_read_again_until_it_is_too_old() -> None:
    world = VaultWorld()
    vault = process(world)
    key = await take_current_key(SCOPE, vault=vault)
    world.steps.seen.clear()
    world.keys.down = True
    assert await take_current_key(SCOPE, vault=vault) == key
    assert world.steps.seen == []
    world.clock.advance(timedelta(seconds=60))
    with pytest.raises(VaultUnavailable):
        await take_current_key(SCOPE, vault=vault)
    world.keys.down = False
    assert await take_current_key(SCOPE, vault=vault) == key


async def test_who_rotates_seals_with_the_new_key_at_once_and_the_others_within_a_minute() -> None:
    world = VaultWorld()
    here, there = process(world), process(world)
    old = await take_current_key(SCOPE, vault=here)
    assert await take_current_key(SCOPE, vault=there) == old
    await rotate_keys(SCOPE.tenant_id, SCOPE.user_id, vault=here)
    new = await take_current_key(SCOPE, vault=here)
    assert new != old
    assert await take_current_key(SCOPE, vault=there) == old
    world.clock.advance(timedelta(seconds=60))
    assert await take_current_key(SCOPE, vault=there) == new


@pytest.mark.parametrize("fate", ["lost", "unconfirmed"])
async def test_a_key_that_is_not_known_to_be_stored_is_neither_returned_nor_remembered(fate: str) -> None:
    world = VaultWorld()
    vault = process(world)
    world.records.fate = lambda key: fate if key.kind is RecordKind.KEYS else None
    with pytest.raises(Unavailable):
        await take_current_key(SCOPE, vault=vault)
    assert vault.cache is not None
    assert vault.cache.current(SCOPE) is None
    world.records.fate = lambda key: None
    key = await take_current_key(SCOPE, vault=vault)
    assert [stored.key_id for stored in (await world.data_keys()).keys] == [key.key_id]
