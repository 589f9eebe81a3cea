"""`memnet keys` on Azurite and the local key vault."""

import re

import pytest
from azure.storage.blob import ContainerClient

from memnet.domain.core.scope import UserScope
from memnet.domain.replay.snapshot import snapshot_key
from memnet.service import Service
from memnet.settings import Settings
from memnet.stores import KeyRing
from tests.cli.conftest import Memnet, on

ROW = re.compile(r"[0-9a-f-]{36}  \d{4}-\d\d-\d\dT[\d:.]{15}Z  ([0-9a-f]{32})(  current)?")
Sealed = dict[str, bytes]


@pytest.fixture
def tenant(container_url: str) -> str:
    """A tenant of this test alone, because the tests share the vault."""
    return container_url.rpartition("/")[2]


@pytest.fixture
def sealed(storage: Settings, tenant: str) -> Sealed:
    """A record of each of three users."""

    async def seal(services: Service) -> Sealed:
        keys = {user: snapshot_key(UserScope(tenant, user), "c", "s") for user in ("u1", "u2", "u3")}
        return {user: await KeyRing(services.vault).seal(key, user.encode()) for user, key in keys.items()}

    return on(storage, seal)


def opened(found: Settings, tenant: str, sealed: Sealed) -> bool:
    async def read(services: Service) -> bool:
        keys = {user: snapshot_key(UserScope(tenant, user), "c", "s") for user in sealed}
        return all([await KeyRing(services.vault).unseal(keys[user], sealed[user]) == user.encode() for user in sealed])

    return on(found, read)


def listed(memnet: Memnet, tenant: str, user: str = "u1") -> list[tuple[str, bool]]:
    """Of each data key the version of the tenant's key, and whether it is the current one."""
    result = memnet("keys", "list", "--tenant", tenant, "--user", user)
    assert result.exit_code == 0, result.output
    rows = [ROW.fullmatch(line) for line in result.stdout.splitlines()]
    return [(row[1], row[2] is not None) for row in rows if row is not None]


def test_a_tenants_rotation_wraps_every_users_keys_and_everything_opens(
    memnet: Memnet, storage: Settings, tenant: str, sealed: Sealed
) -> None:
    before = listed(memnet, tenant)
    result = memnet("keys", "rotate", "--tenant", tenant)
    assert result.exit_code == 0, result.output
    report = re.fullmatch(r"version ([0-9a-f]{32}): 3 users, 3 rewrapped, 0 postponed, 0 broken\n", result.stdout)
    assert report is not None, result.stdout
    assert before != [(report[1], True)]
    assert [listed(memnet, tenant, user) for user in sealed] == [[(report[1], True)]] * 3
    assert opened(storage, tenant, sealed)
    resumed = memnet("keys", "rotate", "--tenant", tenant, "--resume")
    assert resumed.stdout == f"version {report[1]}: 3 users, 0 rewrapped, 0 postponed, 0 broken\n"


def test_a_user_gets_a_new_key_and_keeps_the_old_one(
    memnet: Memnet, storage: Settings, tenant: str, sealed: Sealed
) -> None:
    result = memnet("keys", "rotate", "--tenant", tenant, "--user", "u1")
    assert (result.exit_code, result.stdout) == (0, f"user u1 of tenant {tenant} has a new data key\n")
    assert [current for _, current in listed(memnet, tenant)] == [False, True]
    assert [current for _, current in listed(memnet, tenant, "u2")] == [True]
    assert opened(storage, tenant, sealed)


def test_a_lost_key_is_replaced_on_request(
    memnet: Memnet, storage: Settings, tenant: str, sealed: Sealed, blobs: ContainerClient
) -> None:
    """The user has the wrapped keys of another: no key of the vault unwraps them."""
    with blobs:
        foreign = blobs.download_blob(f"tenants/{tenant}/users/u1/keys/data.json").readall()
        blobs.upload_blob(f"tenants/{tenant}/users/u2/keys/data.json", foreign, overwrite=True)
    rotate = ("keys", "rotate", "--tenant", tenant, "--user", "u2")
    result = memnet(*rotate)
    assert (result.exit_code, "DECRYPTION_FAILED" in result.stderr) == (1, True)
    result = memnet(*rotate, "--replace-lost-key")
    assert (result.exit_code, result.stdout) == (0, f"user u2 of tenant {tenant} has a new data key\n")
    assert [current for _, current in listed(memnet, tenant, "u2")] == [False, True]


def test_a_tenants_first_key_is_made_once(memnet: Memnet, storage: Settings, tenant: str) -> None:
    first = memnet("keys", "create", "--tenant", tenant)
    assert first.exit_code == 0
    assert re.fullmatch(rf"the key of tenant {tenant} is at version [0-9a-f]{{32}}\n", first.output)
    assert memnet("keys", "create", "--tenant", tenant).output == first.output


def test_a_user_without_keys_gets_none(memnet: Memnet, storage: Settings, tenant: str) -> None:
    for command in (["list", "--user", "u1"], ["rotate", "--user", "u1"], ["rotate"], ["rotate", "--resume"]):
        result = memnet("keys", command[0], "--tenant", tenant, *command[1:])
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith("no keys are stored for ")
    assert listed(memnet, tenant) == []


def test_a_vault_that_does_not_answer_is_reported(
    memnet: Memnet, storage: Settings, tenant: str, sealed: Sealed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMNET_VAULT_TOKEN", "another")
    result = memnet("keys", "rotate", "--tenant", tenant)
    assert result.exit_code == 1
    assert "VAULT_UNAVAILABLE" in result.stderr
    assert opened(storage, tenant, sealed)


@pytest.mark.parametrize(
    "arguments",
    [
        ["rotate", "--tenant", "a/b"],
        ["rotate", "--tenant", "t1", "--user", "../u"],
        ["rotate", "--tenant", "t1", "--user", "u1", "--resume"],
        ["rotate", "--tenant", "t1", "--replace-lost-key"],
        ["list", "--tenant", "t1"],
    ],
)
def test_invalid_arguments_are_a_usage_error(memnet: Memnet, storage: Settings, arguments: list[str]) -> None:
    assert memnet("keys", *arguments).exit_code == 2
