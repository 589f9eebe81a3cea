"""One emulator for all tests here, and an index for each."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from azure.search.documents import SearchClient
from azure.search.documents.indexes import SearchIndexClient

from tests.emulators.search.emulator_process import EmulatorProcess, events_index


@pytest.fixture(scope="session")
def running_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorProcess]:
    with EmulatorProcess(tmp_path_factory.mktemp("search")) as process:
        yield process


@pytest.fixture
def emulator(running_emulator: EmulatorProcess) -> Iterator[EmulatorProcess]:
    """The shared emulator; what a test switches on is switched off after it."""
    yield running_emulator
    running_emulator.clear_faults()


@pytest.fixture
def index_client(emulator: EmulatorProcess) -> Iterator[SearchIndexClient]:
    with emulator.index_client() as client:
        yield client


@pytest.fixture
def index_name(index_client: SearchIndexClient) -> Iterator[str]:
    """An empty index with a field of every kind."""
    name = f"events-{uuid4().hex[:12]}"
    index_client.create_index(events_index(name))
    yield name
    index_client.delete_index(name)


@pytest.fixture
def client(emulator: EmulatorProcess, index_name: str) -> Iterator[SearchClient]:
    with emulator.search_client(index_name) as opened:
        yield opened
