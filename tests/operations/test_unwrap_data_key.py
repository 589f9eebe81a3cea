"""A data key opens with the version of the tenant's key that wrapped it, for its user alone."""

import pytest

from memnet.domain.document import UserScope
from memnet.domain.errors import SealBroken, VaultUnavailable
from memnet.operations.add_data_key import add_data_key
from memnet.operations.unwrap_data_key import unwrap_data_key
from tests.domain.snapshot_samples import SCOPE
from tests.operations.vault_world import VaultWorld


async def test_the_version_that_wrapped_it_opens_it_when_there_are_newer_ones() -> None:
    world = VaultWorld()
    made = await add_data_key(SCOPE, None, None, vault=world.vault)
    wrapped = (await world.data_keys()).current
    await world.keys.rotate("t1")
    assert await unwrap_data_key(SCOPE, wrapped, keys=world.keys) == made


@pytest.mark.parametrize("scope", [UserScope("t1", "u2"), UserScope("t2", "u1")])
async def test_another_users_key_is_refused(scope: UserScope) -> None:
    world = VaultWorld()
    await add_data_key(SCOPE, None, None, vault=world.vault)
    await world.keys.newest("t2")
    with pytest.raises(SealBroken):
        await unwrap_data_key(scope, (await world.data_keys()).current, keys=world.keys)


async def test_without_the_vault_it_stays_closed() -> None:
    world = VaultWorld()
    await add_data_key(SCOPE, None, None, vault=world.vault)
    world.keys.down = True
    with pytest.raises(VaultUnavailable):
        await unwrap_data_key(SCOPE, (await world.data_keys()).current, keys=world.keys)
