"""One fixture per port, every backend a parameter: a new adapter is one new parameter."""

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.storage.blob.aio import ContainerClient

from memnet.adapters.azure.blob_audit import BlobAuditLog
from memnet.adapters.azure.blob_container import BlobContainer, open_container
from memnet.adapters.azure.blob_documents import BlobDocumentStore
from memnet.adapters.memory.audit import MemoryAuditLog
from memnet.adapters.memory.documents import MemoryDocumentStore
from memnet.adapters.process.document_cache import DocumentCache
from memnet.adapters.system import SystemClock
from memnet.ports import AuditLog, DocumentStore

BACKENDS = ["memory", "azurite"]


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
async def container(place: Place) -> AsyncIterator[BlobContainer]:
    """The container through the product's pipeline."""
    async with open_container(place.url, account_key=place.key, timeout_seconds=10, clock=SystemClock()) as connected:
        yield connected


@pytest.fixture(params=BACKENDS)
def documents(request: pytest.FixtureRequest) -> DocumentStore:
    """An empty DocumentStore."""
    if request.param == "memory":
        return MemoryDocumentStore()
    return BlobDocumentStore(request.getfixturevalue("container"), DocumentCache(1_000_000))


@pytest.fixture(params=BACKENDS)
def audit(request: pytest.FixtureRequest) -> AuditLog:
    """An empty AuditLog."""
    if request.param == "memory":
        return MemoryAuditLog()
    return BlobAuditLog(request.getfixturevalue("container"))
