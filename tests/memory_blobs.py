"""An empty storage in memory, and a way below the stores for what only somebody with the account's key could do."""

from datetime import timedelta
from typing import Any

from memnet.adapters.memory.blob_storage import MemoryBlobStorage
from memnet.adapters.memory.clock import FrozenClock
from memnet.domain.core.scope import UserScope
from memnet.ports import Clock
from memnet.stores import Blobs


def memory_blobs(clock: Clock | None = None) -> Blobs:
    """Return an empty storage; every write looks at the end of its tenant."""
    clock = clock or FrozenClock()
    return Blobs(MemoryBlobStorage(clock), clock, look_every=timedelta(0))


def storage_of(store: Any) -> MemoryBlobStorage:
    """Return the storage below a store."""
    storage: MemoryBlobStorage = store._blobs.storage
    return storage


class _Unfenced(Blobs):
    async def check(self, scope: UserScope) -> None:
        """Let everybody pass."""


def unfenced(store: Any) -> Any:
    """Return the store as a writer sees it whose look at the fence was before the fence: its write arrives late."""
    return type(store)(_Unfenced(store._blobs.storage, store._blobs.clock))
