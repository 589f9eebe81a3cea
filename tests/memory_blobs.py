"""An empty storage in memory, and access below the stores."""

from datetime import timedelta
from typing import Any

from memnet.adapters.memory.blob_storage import MemoryBlobStorage
from memnet.adapters.memory.clock import FrozenClock
from memnet.domain.core.scope import UserScope
from memnet.ports import Clock
from memnet.stores import Blobs, FenceCheck


def memory_blobs(clock: Clock | None = None) -> Blobs:
    """Return an empty storage; every write checks the fence of its tenant."""
    clock = clock or FrozenClock()
    return Blobs(MemoryBlobStorage(clock), clock, look_every=timedelta(0))


def storage_of(store: Any) -> MemoryBlobStorage:
    """Return the storage below a store."""
    storage: MemoryBlobStorage = store._blobs.storage
    return storage


class _Unfenced(Blobs):
    async def check(self, scope: UserScope) -> FenceCheck:
        """Accept every write."""
        return FenceCheck(scope, self.clock.now(), 0.0)


def unfenced(store: Any) -> Any:
    """Return the store without the check of the fence, for late writes."""
    return type(store)(_Unfenced(store._blobs.storage, store._blobs.clock))
