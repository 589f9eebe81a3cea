"""The wrapped keys are read without a vault."""

import pytest

from memnet.domain.data_keys import data_keys_key
from memnet.domain.errors import SealBroken
from memnet.operations.read_data_keys import read_data_keys
from memnet.operations.seal_record import seal_record
from tests.domain.snapshot_samples import SCOPE, snapshot
from tests.operations.vault_world import VaultWorld


async def test_they_are_read_with_their_tag_and_without_the_vault() -> None:
    world = VaultWorld()
    assert await read_data_keys(SCOPE, records=world.records) is None
    await seal_record(snapshot().key, b"x", vault=world.vault)
    world.keys.down = True
    found = await read_data_keys(SCOPE, records=world.records)
    stored = await world.records.read(data_keys_key(SCOPE))
    assert stored is not None
    assert found == (await world.data_keys(), stored.storage_etag)


async def test_a_record_that_is_none_is_refused() -> None:
    world = VaultWorld()
    await world.records.write(data_keys_key(SCOPE), b"{}", replaces=None)
    with pytest.raises(SealBroken):
        await read_data_keys(SCOPE, records=world.records)
