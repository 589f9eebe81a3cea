"""A service in this process, on a storage that counts, with a clock that the measurement moves."""

import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from local.bench.counted_storage import CountedStorage
from local.stack.azurite_server import ACCOUNT_KEY
from local.stack.process import ROOT
from memnet.catalog import load_catalog
from memnet.ports import BlobStorage
from memnet.service import Service
from memnet.settings import load
from memnet.wiring import on_container


@dataclass(frozen=True)
class Measured:
    """What one piece of work took."""

    name: str
    users: int
    """The users that it had to work on."""
    seconds: float
    processor_seconds: float
    """Of this process; the storage is another one."""
    calls: Counter[str] = field(default_factory=Counter)


class World:
    """The service and its storage."""

    def __init__(self, service: Service, storage: CountedStorage) -> None:
        """`service` uses `storage`."""
        self.service = service
        self.storage = storage
        # The adapters in memory, whose other ends are no ports.
        self._clock: Any = service.clock
        self._background: Any = service.background
        self.queue: Any = service.queue

    def advance(self, step: timedelta) -> None:
        """Move the service's clock."""
        self._clock.advance(step)

    async def drain(self) -> None:
        """Wait for the work after the responses."""
        await self._background.drain()

    @asynccontextmanager
    async def measuring(self, name: str, users: int, found: list[Measured]) -> AsyncIterator[None]:
        """Measure the block and add the result to `found`."""
        self.storage.counts.clear()
        started, processor = time.perf_counter(), time.process_time()
        yield
        await self.drain()
        lasted, used = time.perf_counter() - started, time.process_time() - processor
        found.append(Measured(name, users, lasted, used, self.storage.counts.copy()))


@asynccontextmanager
async def open_world(storage_url: str) -> AsyncIterator[World]:
    """Yield a service with the project's own profiles on the container; keys, queue and index are in memory."""
    settings = load({**_SETTINGS, "MEMNET_STORAGE_URL": storage_url})
    catalog = load_catalog(
        ROOT / "profiles", ROOT / "schemas", ROOT / "prompts", retention_file=ROOT / "retention" / "ceilings.json"
    )
    counted: list[CountedStorage] = []

    def count(container: BlobStorage) -> BlobStorage:
        counted.append(CountedStorage(container))
        return counted[0].as_storage()

    async with on_container(settings, catalog, through=count) as service:
        yield World(service, counted[0])


_SETTINGS = {
    "MEMNET_SEARCH_URL": "http://127.0.0.1:1",
    "MEMNET_ISSUER_URL": "none",
    "MEMNET_AUDIENCE": "none",
    "MEMNET_QUEUE_URL": "sb://127.0.0.1:1",
    "MEMNET_VAULT_URL": "https://127.0.0.1:1",
    "MEMNET_STORAGE_KEY": ACCOUNT_KEY,
    "MEMNET_STORAGE_TIMEOUT_SECONDS": "60",
}
"""The first ones are required and not used. Azurite may be slow with many blobs."""
