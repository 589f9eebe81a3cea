"""A user's first sealed record brings the data key with it; any number of processes end with one."""

import asyncio

import pytest

from memnet.domain.data_keys import data_keys_key
from memnet.domain.document import UserScope
from memnet.domain.errors import SealBroken, Unavailable, VaultUnavailable
from memnet.domain.record import RecordKind
from memnet.domain.snapshot import snapshot_key
from memnet.operations.open_record import open_record
from memnet.operations.seal_record import seal_record
from memnet.operations.take_current_key import ATTEMPTS
from tests.domain.snapshot_samples import SCOPE
from tests.operations.vault_world import VaultWorld

KEY = snapshot_key(SCOPE, "c_1", "s_1")


async def test_what_is_sealed_opens_and_says_nothing() -> None:
    world = VaultWorld()
    sealed = await seal_record(KEY, b"what was said", vault=world.vault)
    assert b"what was said" not in sealed
    assert await open_record(KEY, sealed, vault=world.vault) == b"what was said"


async def test_a_user_has_one_data_key_and_every_user_their_own() -> None:
    world = VaultWorld()
    for scope in (SCOPE, SCOPE, UserScope("t1", "u2"), UserScope("t2", "u1")):
        await seal_record(snapshot_key(scope, "c", "s"), b"x", vault=world.vault)
    found = [await world.data_keys(scope) for scope in (SCOPE, UserScope("t1", "u2"), UserScope("t2", "u1"))]
    assert [len(keys.keys) for keys in found] == [1, 1, 1]
    assert len({keys.current.key_id for keys in found}) == 3


async def test_the_same_again_is_sealed_otherwise() -> None:
    world = VaultWorld()
    assert await seal_record(KEY, b"x", vault=world.vault) != await seal_record(KEY, b"x", vault=world.vault)


async def test_a_racing_first_use_ends_with_one_key_that_opens_everything() -> None:
    world = VaultWorld()
    sealed = await asyncio.gather(*(seal_record(KEY, str(n).encode(), vault=world.vault) for n in range(16)))
    assert len((await world.data_keys()).keys) == 1
    opened = [await open_record(KEY, data, vault=world.vault) for data in sealed]
    assert opened == [str(n).encode() for n in range(16)]


async def test_a_first_key_whose_write_was_sent_twice_is_the_key() -> None:
    world = VaultWorld()
    world.records.fate = lambda key: "repeated" if key.kind is RecordKind.KEYS else None
    sealed = await seal_record(KEY, b"x", vault=world.vault)
    assert await open_record(KEY, sealed, vault=world.vault) == b"x"


@pytest.mark.parametrize("fate", ["lost", "unconfirmed"])
async def test_nothing_is_sealed_with_a_key_that_is_not_known_to_be_stored(fate: str) -> None:
    world = VaultWorld()
    world.records.fate = lambda key: fate
    with pytest.raises(Unavailable):
        await seal_record(KEY, b"x", vault=world.vault)
    world.records.fate = lambda key: None
    sealed = await seal_record(KEY, b"x", vault=world.vault)
    assert await open_record(KEY, sealed, vault=world.vault) == b"x"


async def test_without_the_vault_nothing_is_sealed_and_no_key_is_left() -> None:
    world = VaultWorld()
    world.keys.down = True
    with pytest.raises(VaultUnavailable):
        await seal_record(KEY, b"x", vault=world.vault)
    assert (await world.records.list(SCOPE, RecordKind.KEYS, limit=9, cursor=None)).items == []


async def test_keys_that_do_not_open_are_not_replaced() -> None:
    world = VaultWorld()
    for scope in (SCOPE, UserScope("t1", "u2")):
        await seal_record(snapshot_key(scope, "c", "s"), b"x", vault=world.vault)
    await world.swap(data_keys_key(SCOPE), data_keys_key(UserScope("t1", "u2")))
    with pytest.raises(SealBroken):
        await seal_record(KEY, b"x", vault=world.vault)


async def test_a_store_that_never_shows_the_winner_is_unavailable() -> None:
    world = VaultWorld()
    world.records.fate = lambda key: "repeated"
    world.records.read = nothing  # type: ignore[method-assign, assignment]
    with pytest.raises(Unavailable):
        await seal_record(KEY, b"x", vault=world.vault)
    assert world.steps.seen == ["write keys"] * ATTEMPTS


async def nothing(key: object) -> None:
    await asyncio.sleep(0)
