"""The stores, each over an empty storage in memory; those of one test share it."""

from collections.abc import AsyncIterator

import pytest

from memnet.stores import AuditLog, Blobs, DocumentStore, EventStore, HoldStore, ItemStore, JobMarks, SearchRegister
from tests.memory_blobs import memory_blobs
from tests.operations.service_scenario import Service
from tests.operations.vault_scenario import VaultWorld


@pytest.fixture
def blobs() -> Blobs:
    return memory_blobs()


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    """A service on memory adapters, without data."""
    made = Service()
    yield made
    await made.background.drain()


@pytest.fixture
def documents(blobs: Blobs) -> DocumentStore:
    return DocumentStore(blobs)


@pytest.fixture
def audit(blobs: Blobs) -> AuditLog:
    return AuditLog(blobs, VaultWorld().vault)


@pytest.fixture
def events(blobs: Blobs) -> EventStore:
    return EventStore(blobs)


@pytest.fixture
def register(blobs: Blobs) -> SearchRegister:
    return SearchRegister(blobs)


@pytest.fixture
def records(blobs: Blobs) -> ItemStore:
    return ItemStore(blobs)


@pytest.fixture
def marks(blobs: Blobs) -> JobMarks:
    return JobMarks(blobs)


@pytest.fixture
def holds(blobs: Blobs) -> HoldStore:
    return HoldStore(blobs)
