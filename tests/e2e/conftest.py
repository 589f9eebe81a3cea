"""One service per module (and per xdist worker that runs part of it): its container, its fault proxy, its API."""

from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio

from local.emulators.issuer import Issuer
from local.stack.azurite_server import create_container, drop_container
from local.stack.key_vault_server import KeyVault
from tests.e2e.console_fixtures import browser, maya, session, stack, tab
from tests.e2e.service import Service

__all__ = ["browser", "maya", "session", "stack", "tab"]


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """More settings for the API; a module gives its own by a fixture of this name."""
    return {}


@pytest.fixture(scope="module")
def module_container_url(azurite: Any) -> Iterator[str]:
    """The URL of a fresh container that goes away with the module."""
    name = f"e2e-{uuid4().hex}"
    yield create_container(azurite.account_url, name)
    drop_container(azurite.account_url, name)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(
    azurite: Any,
    issuer: Issuer,
    module_container_url: str,
    key_vault: KeyVault,
    environment: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Service]:
    """The running service. Its tests run on the module's loop, where its proxy and its clients live."""
    logs = tmp_path_factory.mktemp("service")
    running = Service(
        module_container_url,
        service_url=azurite.service_url,
        issuer=issuer,
        logs=logs,
        environment=key_vault.environment | environment,
    )
    async with running:
        yield running


@pytest.fixture(autouse=True)
def _heal(request: pytest.FixtureRequest) -> Iterator[None]:
    """No fault of one test reaches the next."""
    yield
    if "service" in request.fixturenames:
        request.getfixturevalue("service").proxy.heal()
