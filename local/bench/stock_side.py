"""Calls of Azure's clients with their own defaults, on the blobs that the service has written."""

import os
from collections.abc import Sequence
from typing import Any

from azure.core import MatchConditions
from azure.core.credentials import AzureNamedKeyCredential
from azure.storage.blob import ContentSettings
from azure.storage.blob.aio import BlobClient, ContainerClient

from local.bench import subject
from local.bench.event_sides import EventSide
from local.bench.timing import together
from local.stack.azurite_server import ACCOUNT_KEY, ACCOUNT_NAME


class StockSide:
    """Calls of azure-storage-blob, and through `EventSide` of azure-search-documents."""

    def __init__(self, container_url: str, search_url: str) -> None:
        """`container_url` is the service's container, `search_url` its search service."""
        credential = AzureNamedKeyCredential(ACCOUNT_NAME, ACCOUNT_KEY)
        self._container = ContainerClient.from_container_url(container_url, credential)
        self._events = EventSide(self._container, search_url)
        self._read: dict[str, BlobClient] = {}
        self._written: dict[str, tuple[BlobClient, str]] = {}

    async def measure(self, name: str, users: Sequence[str], clients: int, count: int, pause: float) -> list[float]:
        """Measure `get`, or `get_put`: a GET, and a conditional PUT of the same bytes and metadata elsewhere.

        Or a call of `EventSide`.
        """
        if name in self._events.calls:
            await self._events.prepare()
            call = self._events.calls[name]
        else:
            for user in users:
                await self._prepare(user)
            call = {"get": self._get, "get_put": self._get_put}[name]
        return await together([call] * clients, users, count, pause)

    async def count_blobs(self, prefix: str) -> dict[str, int]:
        """Count the blobs below `prefix` by the ending of their names."""
        counts: dict[str, int] = {}
        async for name in self._container.list_blob_names(name_starts_with=prefix):
            ending = name.rpartition(".")[2]
            counts[ending] = counts.get(ending, 0) + 1
        return counts

    async def load(self, first: int, count: int) -> None:
        """Put events into the index, from the one numbered `first` up to `count`."""
        await self._events.load(first, count)

    async def close(self) -> None:
        """Close the clients."""
        await self._events.close()
        await self._container.close()

    async def _prepare(self, user: str) -> None:
        if user in self._read:
            return
        self._read[user] = self._container.get_blob_client(subject.blob_name(user, subject.BINDINGS[0]))
        copy = self._container.get_blob_client(f"bench/{os.getpid()}/{user}")
        written = await copy.upload_blob(b"", overwrite=True)
        self._written[user] = (copy, str(written["etag"]))

    async def _get(self, user: str) -> tuple[bytes, dict[str, str]]:
        download = await self._read[user].download_blob()
        return await download.readall(), download.properties.metadata

    async def _get_put(self, user: str) -> None:
        data, metadata = await self._get(user)
        copy, etag = self._written[user]
        written: dict[str, Any] = await copy.upload_blob(
            data,
            overwrite=True,
            etag=etag,
            match_condition=MatchConditions.IfNotModified,
            metadata=metadata,
            content_settings=ContentSettings(content_type="application/json"),
        )
        self._written[user] = (copy, str(written["etag"]))
