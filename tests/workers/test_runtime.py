"""How a worker process connects its services: settings, catalog, retries."""

import socket

import pytest

from local.stack.azurite_server import ACCOUNT_KEY, container_client
from memnet.domain.core.errors import CatalogConflict
from memnet.settings import SettingsError
from tests.sample_settings import NOWHERE
from workers.runtime import connection

pytestmark = pytest.mark.usefixtures("restored_logging")


async def test_a_worker_reports_missing_settings_when_it_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMNET_STORAGE_URL", "https://account.blob.core.windows.net/memnet")
    missing = "MEMNET_SEARCH_URL is required\nMEMNET_QUEUE_URL is required\nMEMNET_VAULT_URL is required"
    with pytest.raises(SettingsError, match=missing):
        await connection.service()
    monkeypatch.setenv("MEMNET_STORAGE_URL", "")
    with pytest.raises(SettingsError, match="MEMNET_STORAGE_URL is required"):
        await connection.service()
    await connection.close()


async def test_a_worker_does_not_serve_prometheus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the API of the same machine has the port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for name, value in {**NOWHERE, "MEMNET_PROMETHEUS_ADDRESS": address}.items():
            monkeypatch.setenv(name, value)
        services = await connection.service()
        assert not services.telemetry.enabled
        await connection.close()


async def test_a_changed_text_under_a_released_version_stops_a_worker(
    container_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    account_url, _, name = container_url.rpartition("/")
    with container_client(account_url, name) as container:
        container.upload_blob("catalog/schema/memory.project/1.0.0.json", b"{}")
    for variable, value in {**NOWHERE, "MEMNET_STORAGE_URL": container_url, "MEMNET_STORAGE_KEY": ACCOUNT_KEY}.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(CatalogConflict, match=r"schema memory\.project 1\.0\.0"):
        await connection.service()
    await connection.close()
