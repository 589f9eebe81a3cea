"""A new data key goes behind those that were read, or nowhere."""

import pytest

from memnet.domain.document import StorageETag
from memnet.operations.add_data_key import add_data_key
from memnet.operations.read_data_keys import read_data_keys
from memnet.operations.unwrap_data_key import unwrap_data_key
from memnet.ports import StoreConflict
from tests.domain.snapshot_samples import SCOPE
from tests.operations.vault_world import VaultWorld


async def test_the_first_one_and_the_next_one() -> None:
    world = VaultWorld()
    first = await add_data_key(SCOPE, None, None, vault=world.vault)
    found = await read_data_keys(SCOPE, records=world.records)
    assert found is not None
    second = await add_data_key(SCOPE, *found, vault=world.vault)
    kept = await world.data_keys()
    assert [await unwrap_data_key(SCOPE, key, keys=world.keys) for key in kept.keys] == [first, second]
    assert kept.current.key_id == second.key_id
    assert first.secret != second.secret


@pytest.mark.parametrize("tag", [None, StorageETag('"stale"')])
async def test_keys_that_were_changed_meanwhile_stay(tag: StorageETag | None) -> None:
    world = VaultWorld()
    await add_data_key(SCOPE, None, None, vault=world.vault)
    before = await world.data_keys()
    with pytest.raises(StoreConflict):
        await add_data_key(SCOPE, before, tag, vault=world.vault)
    assert await world.data_keys() == before
