"""Keys are opened at once, and those that do not open are not there."""

from dataclasses import replace

import pytest

from memnet.adapters.process.data_key_cache import ProcessDataKeyCache
from memnet.domain import data_keys
from memnet.domain.data_keys import DataKeys, data_keys_key
from memnet.domain.errors import VaultUnavailable
from memnet.domain.sealing import DataKey
from memnet.operations.add_data_key import add_data_key
from memnet.operations.open_data_keys import open_data_keys
from memnet.operations.read_data_keys import read_data_keys
from tests.domain.snapshot_samples import SCOPE
from tests.operations.vault_world import VaultWorld


async def keyed(number: int) -> tuple[VaultWorld, list[DataKey]]:
    """A user with so many keys."""
    world, made = VaultWorld(), list[DataKey]()
    for _ in range(number):
        found = await read_data_keys(SCOPE, records=world.records) or (None, None)
        made.append(await add_data_key(SCOPE, *found, vault=world.vault))
    world.steps.seen.clear()
    return world, made


async def test_all_are_opened_with_one_read_and_unknown_ones_are_left_out() -> None:
    world, made = await keyed(3)
    wanted = [made[0].key_id, made[2].key_id, "unknown"]
    assert await open_data_keys(SCOPE, wanted, vault=world.vault) == {key.key_id: key for key in (made[0], made[2])}
    assert world.steps.seen == ["read keys"]


async def test_what_is_remembered_is_not_read() -> None:
    world, made = await keyed(2)
    vault = replace(world.vault, cache=ProcessDataKeyCache(world.clock))
    ids = {key.key_id for key in made}
    first = await open_data_keys(SCOPE, ids, vault=vault)
    world.keys.down = True
    assert await open_data_keys(SCOPE, ids, vault=vault) == first
    assert world.steps.seen == ["read keys"]
    with pytest.raises(VaultUnavailable):
        await open_data_keys(SCOPE, ids, vault=world.vault)


async def test_no_keys_wanted_no_read() -> None:
    world, _ = await keyed(1)
    assert await open_data_keys(SCOPE, (), vault=world.vault) == {}
    assert world.steps.seen == []


async def test_a_key_that_does_not_open_is_not_there_and_the_others_are() -> None:
    world, made = await keyed(2)
    stored = await world.records.read(data_keys_key(SCOPE))
    assert stored is not None
    first, second = data_keys.load(stored.data).keys
    spoilt = DataKeys([replace(first, ciphertext=bytes(len(first.ciphertext))), second])
    tag = await world.records.write(data_keys_key(SCOPE), data_keys.dump(spoilt), replaces=stored.storage_etag)
    ids = {key.key_id for key in made}
    assert await open_data_keys(SCOPE, ids, vault=world.vault) == {made[1].key_id: made[1]}
    await world.records.write(data_keys_key(SCOPE), b"{}", replaces=tag)
    assert await open_data_keys(SCOPE, ids, vault=world.vault) == {}


async def test_of_who_has_no_keys_nothing_opens() -> None:
    assert await open_data_keys(SCOPE, ["k"], vault=VaultWorld().vault) == {}
