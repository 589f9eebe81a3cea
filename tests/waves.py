"""A storage that shows which calls wait for which: it answers all waiting calls together."""

import asyncio
from typing import Any

from memnet.adapters.memory.blob_storage import MemoryBlobStorage
from memnet.adapters.memory.clock import FrozenClock
from memnet.ports import Clock
from memnet.stores import Blobs

YIELDS = 50
"""Turns of the event loop in which every task reaches its next call."""


class WaveStorage:
    """A storage in memory. Each wave of calls is one round trip for the operation that makes them."""

    def __init__(self, storage: MemoryBlobStorage) -> None:
        self.storage = storage
        self.waves: list[list[str]] = []
        """The calls, each as "<method> <blob name>"."""
        self._answer: asyncio.Task[None] | None = None

    def __getattr__(self, method: str) -> Any:
        inner = getattr(self.storage, method)

        async def call(name: str, *arguments: Any, **named: Any) -> Any:
            if self._answer is None:
                self.waves.append([])
                self._answer = asyncio.create_task(self._end_wave())
            self.waves[-1].append(f"{method} {name}")
            await asyncio.shield(self._answer)
            return await inner(name, *arguments, **named)

        return call

    async def _end_wave(self) -> None:
        for _ in range(YIELDS):
            await asyncio.sleep(0)
        self._answer = None


async def wave_blobs(tenant_id: str, clock: Clock | None = None) -> tuple[Blobs, WaveStorage]:
    """Return an empty storage whose process has just seen that the tenant has not ended."""
    clock = clock or FrozenClock()
    storage = WaveStorage(MemoryBlobStorage(clock))
    blobs = Blobs(storage, clock)
    await blobs.check_tenant(tenant_id)
    storage.waves.clear()
    return blobs, storage
