"""The unmodified SDK against the emulator."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from azure.core.exceptions import (
    HttpResponseError,
    ResourceExistsError,
    ResourceNotFoundError,
)
from azure.keyvault.secrets import ApiVersion, SecretClient

from local.stack.key_vault_server import KeyVault
from tests.emulators.key_vault.vault_client import client_of


@pytest.fixture
def client(key_vault: KeyVault) -> SecretClient:
    return client_of(key_vault)


@pytest.fixture
def name() -> str:
    return f"s-{uuid4().hex}"


def test_a_secret_comes_back_with_all_that_was_said_of_it(client: SecretClient, key_vault: KeyVault, name: str) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    start, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC)
    written = client.set_secret(
        name, "ß 💡", tags={"owner": "ä"}, content_type="text", not_before=start, expires_on=end
    )
    read = client.get_secret(name)
    assert (read.value, read.id) == ("ß 💡", written.id)
    found = read.properties
    assert (found.name, found.tags, found.content_type, found.enabled) == (name, {"owner": "ä"}, "text", True)
    assert (found.not_before, found.expires_on) == (start, end)
    assert found.created_on is not None
    assert before <= found.created_on <= datetime.now(UTC)
    assert (found.recovery_level, found.recoverable_days) == ("Recoverable+Purgeable", 90)
    assert (found.vault_url, len(found.version or "")) == (key_vault.url, 32)


def test_the_newest_version_is_read_and_the_older_ones_stay(client: SecretClient, name: str) -> None:
    versions = [client.set_secret(name, f"value {n}").properties.version for n in range(3)]
    assert client.get_secret(name).value == "value 2"
    assert [client.get_secret(name, version).value for version in versions] == ["value 0", "value 1", "value 2"]
    assert [found.version for found in client.list_properties_of_secret_versions(name)] == versions


def test_what_is_missing_is_not_found(client: SecretClient, name: str) -> None:
    with pytest.raises(ResourceNotFoundError) as raised:
        client.get_secret(name)
    assert raised.value.error is not None
    assert raised.value.error.code == "SecretNotFound"
    client.set_secret(name, "1")
    with pytest.raises(ResourceNotFoundError):
        client.get_secret(name, uuid4().hex)
    with pytest.raises(ResourceNotFoundError):
        client.get_deleted_secret(name)
    assert list(client.list_properties_of_secret_versions(f"{name}-other")) == []


def test_a_disabled_version_is_not_read(client: SecretClient, name: str) -> None:
    version = client.set_secret(name, "1", tags={"a": "b"}).properties.version
    changed = client.update_secret_properties(name, version, enabled=False)
    assert (changed.enabled, changed.tags) == (False, {"a": "b"})
    with pytest.raises(HttpResponseError) as raised:
        client.get_secret(name)
    assert raised.value.status_code == 403
    client.update_secret_properties(name, enabled=True)
    assert client.get_secret(name).value == "1"


def test_a_deleted_secret_is_gone_and_its_name_taken(client: SecretClient, name: str) -> None:
    version = client.set_secret(name, "1").properties.version
    gone = client.begin_delete_secret(name).result()
    assert gone.deleted_date is not None
    assert gone.scheduled_purge_date is not None
    assert (gone.scheduled_purge_date - gone.deleted_date).days == 90
    for one in (None, version):
        with pytest.raises(ResourceNotFoundError):
            client.get_secret(name, one)
    assert name not in [one.name for one in client.list_properties_of_secrets()]
    with pytest.raises(ResourceExistsError) as raised:
        client.set_secret(name, "3")
    assert raised.value.status_code == 409


@pytest.mark.parametrize("version", [ApiVersion.V7_4, ApiVersion.V2026_04_01])
def test_several_versions_of_the_api_are_there(key_vault: KeyVault, name: str, version: ApiVersion) -> None:
    assert client_of(key_vault, api_version=version).set_secret(name, "1").value == "1"
