"""The SigningKeys port on each backend, and what only the key vault can show."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from local.stack.key_vault_server import KeyVault
from memnet.adapters.azure.key_vault import open_vault
from memnet.adapters.azure.key_vault_keys import FRESH, KeyVaultSigningKeys
from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.memory.ids import SequentialIds
from memnet.adapters.memory.keys import MemorySigningKeys
from memnet.adapters.system import RandomIds
from memnet.domain.core.errors import DecryptionFailed, VaultUnavailable
from memnet.domain.core.signature import holds, sign
from memnet.ports import Clock, SigningKeys
from tests.emulators.key_vault.vault_client import client_of


@pytest.fixture
def name() -> str:
    """A secret of this test alone: the tests share the vault."""
    return f"signing-{uuid4().hex}"


@asynccontextmanager
async def connected(
    vault: KeyVault, name: str, clock: Clock | None = None, **options: Any
) -> AsyncIterator[KeyVaultSigningKeys]:
    given = {"token": vault.token, "ca": vault.ca_file, "timeout_seconds": 10.0, "backoff_seconds": 0.01, **options}
    async with open_vault(vault.url, **given) as secrets:
        yield KeyVaultSigningKeys(secrets, clock or FrozenClock(), RandomIds(), name)


@pytest.fixture
async def in_vault(key_vault: KeyVault, name: str) -> AsyncIterator[KeyVaultSigningKeys]:
    async with connected(key_vault, name) as keys:
        yield keys


@pytest.fixture(params=["memory", "vault"])
def keys(request: pytest.FixtureRequest) -> SigningKeys:
    if request.param == "memory":
        return MemorySigningKeys(SequentialIds())
    found: SigningKeys = request.getfixturevalue("in_vault")
    return found


async def test_before_the_first_use_there_is_no_public_key(keys: SigningKeys) -> None:
    assert list(await keys.public_keys()) == []


async def test_the_first_use_makes_a_key_and_every_later_one_finds_it(keys: SigningKeys) -> None:
    made = await keys.newest()
    assert await keys.newest() == made
    assert list(await keys.public_keys()) == [made.public]
    assert holds(made.public, "p", b"x", sign(made, "p", b"x"))


async def test_a_rotated_key_is_the_newest_and_what_older_ones_signed_holds(keys: SigningKeys) -> None:
    first = await keys.newest()
    second = await keys.rotate()
    assert second.public != first.public
    assert await keys.newest() == second
    assert {key.key_id for key in await keys.public_keys()} == {first.public.key_id, second.public.key_id}


async def test_first_uses_at_once_make_one_key(keys: SigningKeys) -> None:
    made = await asyncio.gather(*(keys.newest() for _ in range(10)))
    assert len({key.version for key in made}) == 1


async def test_what_lies_in_the_vault(key_vault: KeyVault, in_vault: KeyVaultSigningKeys, name: str) -> None:
    key = await in_vault.newest()
    found = client_of(key_vault).get_secret(name)
    assert base64.b64decode(found.value or "") == key.secret
    assert (found.properties.version, found.properties.tags) == (key.version, {"algorithm": "Ed25519"})


async def test_first_uses_by_two_processes_both_hold(key_vault: KeyVault, name: str) -> None:
    async with connected(key_vault, name) as one, connected(key_vault, name) as other:
        made = await asyncio.gather(one.newest(), other.newest())
        assert {key.public.key_id for key in made} <= {key.key_id for key in await one.public_keys()}


async def test_the_newest_is_asked_for_again_after_five_minutes(key_vault: KeyVault, name: str) -> None:
    clock = FrozenClock()
    async with connected(key_vault, name, clock) as one, connected(key_vault, name) as other:
        first = await one.newest()
        second = await other.rotate()
        clock.advance(FRESH - timedelta(seconds=1))
        assert await one.newest() == first
        clock.advance(timedelta(seconds=1))
        assert await one.newest() == second


async def test_a_disabled_version_verifies_nothing_any_more(
    key_vault: KeyVault, in_vault: KeyVaultSigningKeys, name: str
) -> None:
    first = await in_vault.newest()
    second = await in_vault.rotate()
    client_of(key_vault).update_secret_properties(name, first.version, enabled=False)
    assert list(await in_vault.public_keys()) == [second.public]


@pytest.mark.parametrize("value", ["", "no base64!", base64.b64encode(b"short").decode()])
async def test_a_secret_that_is_no_key_breaks_the_seal(
    key_vault: KeyVault, in_vault: KeyVaultSigningKeys, name: str, value: str
) -> None:
    client_of(key_vault).set_secret(name, value)
    for call in (in_vault.newest(), in_vault.public_keys()):
        with pytest.raises(DecryptionFailed):
            await call


async def test_a_vault_that_does_not_answer(key_vault: KeyVault, name: str, tmp_path: Path) -> None:
    with KeyVault(log=tmp_path / "log", directory=tmp_path / "data") as own:
        async with connected(own, name) as keys:
            key = await keys.newest()
            own.kill()
            assert await keys.newest() == key
            for call in (keys.public_keys(), keys.rotate()):
                with pytest.raises(VaultUnavailable):
                    await call
    async with connected(key_vault, name, token="wrong") as refused:
        for call in (refused.newest(), refused.public_keys()):
            with pytest.raises(VaultUnavailable):
                await call
