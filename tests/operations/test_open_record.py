"""A sealed record opens in its place, as long as its user's keys are there and the vault answers."""

import pytest

from memnet.domain.data_keys import data_keys_key
from memnet.domain.document import UserScope
from memnet.domain.errors import SealBroken, VaultUnavailable
from memnet.domain.record import RecordKey
from memnet.domain.snapshot import snapshot_key
from memnet.operations.open_record import open_record
from memnet.operations.rotate_keys import rotate_keys
from memnet.operations.seal_record import seal_record
from tests.domain.snapshot_samples import SCOPE
from tests.operations.vault_world import VaultWorld

KEY = snapshot_key(SCOPE, "c_1", "s_1")


@pytest.mark.parametrize(
    "place",
    [
        snapshot_key(UserScope("t1", "u2"), "c_1", "s_1"),
        snapshot_key(UserScope("t2", "u1"), "c_1", "s_1"),
        snapshot_key(SCOPE, "c_2", "s_1"),
        snapshot_key(SCOPE, "c_1", "s_2"),
    ],
    ids=lambda place: place.blob_name,
)
async def test_moved_bytes_do_not_open(place: RecordKey) -> None:
    world = VaultWorld()
    sealed = await seal_record(KEY, b"x", vault=world.vault)
    await seal_record(place, b"x", vault=world.vault)
    with pytest.raises(SealBroken):
        await open_record(place, sealed, vault=world.vault)


async def test_not_even_with_the_other_users_keys() -> None:
    """Who can write to the storage moves the record and the keys alike."""
    world, other = VaultWorld(), UserScope("t1", "u2")
    sealed = await seal_record(KEY, b"x", vault=world.vault)
    await seal_record(snapshot_key(other, "c", "s"), b"x", vault=world.vault)
    await world.swap(data_keys_key(SCOPE), data_keys_key(other))
    for place in (KEY, snapshot_key(other, "c_1", "s_1")):
        with pytest.raises(SealBroken):
            await open_record(place, sealed, vault=world.vault)


async def test_without_its_key_it_does_not_open() -> None:
    world = VaultWorld()
    sealed = await seal_record(KEY, b"x", vault=VaultWorld().vault)
    with pytest.raises(SealBroken):
        await open_record(KEY, sealed, vault=world.vault)
    await seal_record(KEY, b"x", vault=world.vault)
    await rotate_keys("t1", "u1", vault=world.vault)
    renamed = sealed.replace(b"00000000-0000", b"00000000-0001")
    with pytest.raises(SealBroken):
        await open_record(KEY, renamed, vault=world.vault)


async def test_plaintext_is_not_taken_for_sealed() -> None:
    world = VaultWorld()
    await seal_record(KEY, b"x", vault=world.vault)
    with pytest.raises(SealBroken):
        await open_record(KEY, b'{"messages":[]}', vault=world.vault)


async def test_without_the_vault_nothing_opens() -> None:
    world = VaultWorld()
    sealed = await seal_record(KEY, b"x", vault=world.vault)
    world.keys.down = True
    with pytest.raises(VaultUnavailable):
        await open_record(KEY, sealed, vault=world.vault)
