"""One fixture per port, every backend a parameter: a new adapter is one new parameter."""

import gc
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.storage.blob.aio import ContainerClient

from memnet.adapters.azure.blob_storage import AzureBlobStorage, open_container
from memnet.adapters.azure.search_index import open_search
from memnet.adapters.azure.service_bus_queue import open_queue
from memnet.adapters.memory.blob_storage import MemoryBlobStorage
from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.memory.event_index import MemoryEventIndex
from memnet.adapters.system import SystemClock
from memnet.ports import BlobStorage, EventIndex
from memnet.stores import Blobs
from tests.contracts.queue_ends import A_MOMENT, Broker, Ends, InMemory, OnServiceBus, Receivers


@dataclass(frozen=True)
class Place:
    """A fresh container of the emulator."""

    url: str
    key: str
    client: ContainerClient
    """The stock client, to look at and to prepare what the adapters see."""


@pytest.fixture
async def place(azurite: Any) -> AsyncIterator[Place]:
    """A container that only this test uses."""
    credential = AzureNamedKeyCredential(azurite.account_name, azurite.account_key)
    async with ContainerClient(azurite.account_url, f"c{uuid.uuid4().hex}", credential=credential) as client:
        await client.create_container()
        yield Place(client.url, azurite.account_key, client)
        await client.delete_container()


@pytest.fixture
async def container(place: Place) -> AsyncIterator[AzureBlobStorage]:
    """The container through the product's pipeline."""
    async with open_container(place.url, account_key=place.key, timeout_seconds=10, clock=SystemClock()) as connected:
        yield connected


@pytest.fixture(params=["memory", "azurite"])
def storage(request: pytest.FixtureRequest) -> BlobStorage:
    """An empty container."""
    return MemoryBlobStorage(FrozenClock()) if request.param == "memory" else request.getfixturevalue("container")


@pytest.fixture
def blobs(container: AzureBlobStorage) -> Blobs:
    """The emulator's container as the stores use it."""
    return Blobs(container, SystemClock())


@pytest.fixture(params=["memory", "emulator"])
async def index(request: pytest.FixtureRequest) -> AsyncIterator[EventIndex]:
    """An EventIndex whose names are this test's alone."""
    if request.param == "memory":
        yield MemoryEventIndex()
        return
    emulator = request.getfixturevalue("search_emulator")
    prefix = f"t{uuid.uuid4().hex}"
    async with open_search(emulator.url, key=emulator.api_key, prefix=prefix, timeout_seconds=10) as connected:
        yield connected


@pytest.fixture(scope="module")
def queue_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A running broker whose queues outlive it."""
    # Each test of a queue ends with a collection. What other tests left in this process is not looked at again.
    gc.collect()
    gc.freeze()
    with Broker(tmp_path_factory.mktemp("service-bus")) as running:
        yield running
    gc.unfreeze()


@pytest.fixture(params=["memory", "service_bus"])
async def ends(request: pytest.FixtureRequest) -> AsyncIterator[Ends]:
    """Both ends of an empty queue."""
    if request.param == "memory":
        yield InMemory()
        return
    broker: Broker = request.getfixturevalue("queue_broker")
    names = broker.names()
    received = Receivers(broker.connection_string, names)
    async with open_queue(
        broker.url, key=broker.key, names=names.kinds, letters=names.letters, quiet_seconds=A_MOMENT
    ) as queue:
        yield OnServiceBus(queue, received, broker)
        await received.close()
    # The SDK (7.15) leaves the sockets of broken connections to the garbage collector: now, not in another's test.
    gc.collect()
