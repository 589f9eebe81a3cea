"""One broker for all tests here, and a queue for each."""

from collections.abc import Iterator

import pytest

from tests.emulators.service_bus.bus import Bus


@pytest.fixture(scope="session")
def bus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bus]:
    """The running broker with a client. Take a queue of your own: `bus.queue(kind)`."""
    with Bus(tmp_path_factory.mktemp("service-bus")) as running:
        yield running
