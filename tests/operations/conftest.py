"""One service a test, its background work ended with it."""

from collections.abc import AsyncIterator

import pytest

from tests.operations.service_scenario import Service


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    """An empty service on memory adapters."""
    made = Service()
    yield made
    await made.background.drain()
