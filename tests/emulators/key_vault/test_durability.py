"""Acknowledged changes are on disk, readable by their owner alone."""

import threading
from pathlib import Path

import pytest
from azure.core.exceptions import AzureError, ResourceNotFoundError

from local.stack.key_vault_server import KeyVault
from tests.emulators.key_vault.vault_client import client_of


def vault_at(directory: Path) -> KeyVault:
    return KeyVault(log=directory / "log", directory=directory / "data")


def test_killed_while_writing_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    acknowledged: list[tuple[str, str]] = []
    with vault_at(tmp_path) as vault:
        for _ in range(3):
            enough = threading.Event()

            def write(vault: KeyVault = vault, enough: threading.Event = enough) -> None:
                client = client_of(vault)
                start = len(acknowledged)
                try:
                    while True:
                        value = f"value {len(acknowledged)}"
                        acknowledged.append((client.set_secret("s", value).properties.version or "", value))
                        if len(acknowledged) - start == 10:
                            enough.set()
                except AzureError:
                    return

            writer = threading.Thread(target=write)
            writer.start()
            assert enough.wait(60)
            vault.kill()
            writer.join()
            vault.start()
            client = client_of(vault)
            assert [client.get_secret("s", version).value for version, _ in acknowledged] == [
                value for _, value in acknowledged
            ]
            listed = [found.version for found in client.list_properties_of_secret_versions("s")]
            known = {version for version, _ in acknowledged}
            assert [version for version in listed if version in known] == [version for version, _ in acknowledged]


def test_certificate_and_deletions_outlive_the_process(tmp_path: Path) -> None:
    with vault_at(tmp_path) as vault:
        authority = vault.ca_file.read_bytes()
        client = client_of(vault)
        for name in ("kept", "deleted"):
            client.set_secret(name, "1")
        client.begin_delete_secret("deleted").wait()
        vault.stop()
        vault.start()
        assert vault.ca_file.read_bytes() == authority
        assert client.get_secret("kept").value == "1"
        with pytest.raises(ResourceNotFoundError):
            client.get_secret("deleted")
        assert client.get_deleted_secret("deleted").name == "deleted"


def test_only_the_owner_may_read_what_lies_there(tmp_path: Path) -> None:
    with vault_at(tmp_path) as vault:
        client_of(vault).set_secret("s", "1")
        directory = vault.ca_file.parent
        assert directory.stat().st_mode & 0o777 == 0o700
        found = {file.name: file.stat().st_mode & 0o777 for file in directory.iterdir()}
        assert found == {"ca.pem": 0o600, "server.pem": 0o600, "secrets.sqlite": 0o600}
