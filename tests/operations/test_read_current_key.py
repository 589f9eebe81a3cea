"""The key that seals is the one that is stored last, and it is remembered."""

from dataclasses import replace

import pytest

from memnet.adapters.process.data_key_cache import ProcessDataKeyCache
from memnet.domain.data_keys import data_keys_key
from memnet.domain.errors import SealBroken, VaultUnavailable
from memnet.operations.add_data_key import add_data_key
from memnet.operations.read_current_key import read_current_key
from memnet.operations.read_data_keys import read_data_keys
from tests.domain.snapshot_samples import SCOPE
from tests.operations.vault_world import VaultWorld


async def test_who_has_no_key_gets_none_and_none_is_made() -> None:
    world = VaultWorld()
    assert await read_current_key(SCOPE, vault=world.vault) is None
    assert world.steps.seen == ["read keys"]


async def test_it_is_the_last_one_and_remembered() -> None:
    world = VaultWorld()
    vault = replace(world.vault, cache=ProcessDataKeyCache(world.clock))
    await add_data_key(SCOPE, None, None, vault=world.vault)
    found = await read_data_keys(SCOPE, records=world.records)
    assert found is not None
    second = await add_data_key(SCOPE, *found, vault=world.vault)
    assert await read_current_key(SCOPE, vault=vault) == second
    assert vault.cache is not None
    assert vault.cache.current(SCOPE) == second


async def test_a_vault_that_is_down_and_keys_that_do_not_open_are_told() -> None:
    world = VaultWorld()
    await add_data_key(SCOPE, None, None, vault=world.vault)
    world.keys.down = True
    with pytest.raises(VaultUnavailable):
        await read_current_key(SCOPE, vault=world.vault)
    stored = await world.records.read(data_keys_key(SCOPE))
    assert stored is not None
    await world.records.write(data_keys_key(SCOPE), b"{}", replaces=stored.storage_etag)
    with pytest.raises(SealBroken):
        await read_current_key(SCOPE, vault=world.vault)
