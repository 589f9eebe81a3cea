"""The records about the indexes of events: one small blob each below search/, outside of every user's memory."""

import asyncio
from dataclasses import dataclass

from memnet.domain.core.scope import StorageETag
from memnet.domain.events.index_layout import LAYOUT, REGISTER, Layout, load_layout
from memnet.ports import Embedder, EventIndex, StoredDocument
from memnet.stores.blobs import Blobs
from memnet.stores.erasures import ErasureStore


class SearchRegister:
    """The layout of the indexes, and other small records about them."""

    def __init__(self, blobs: Blobs, *, fresh_seconds: float = 2.0) -> None:
        """`fresh_seconds` is how much older than the newest layout one may be that this process works by."""
        self.fresh_seconds = fresh_seconds
        self._blobs = blobs
        self._known: StoredDocument | None = None
        self._layout: Layout | None = None
        self._asked_at: float | None = None

    async def recent(self) -> Layout | None:
        """Return the layout as it was at most `fresh_seconds` ago, or None if there is none. Raises Unavailable."""
        # The loop's time is that of a monotonic clock; it is taken before the read, so the age is never understated.
        now = asyncio.get_running_loop().time()
        if self._asked_at is None or now - self._asked_at >= self.fresh_seconds:
            stored = await self._blobs.storage.get(_name(LAYOUT), self._known)
            if stored is not self._known or stored is None:
                self._known = stored
                self._layout = None if stored is None else load_layout(stored.data)
            self._asked_at = now
        return self._layout

    async def read(self, name: str) -> StoredDocument | None:
        """Return the current record, or None if it does not exist. Raises Unavailable."""
        return await self._blobs.storage.get(_name(name))

    async def write(self, name: str, data: bytes, *, replaces: StorageETag | None) -> StorageETag:
        """Write a record if its tag is `replaces`, or, with None, if it does not exist; return the new tag.

        Raises StoreConflict, and Unavailable when the outcome is unknown.
        """
        self._asked_at = None if name == LAYOUT else self._asked_at
        tag = await self._blobs.storage.put(_name(name), data, replaces=replaces)
        self._asked_at = None if name == LAYOUT else self._asked_at
        return tag


def _name(name: str) -> str:
    return f"{REGISTER}{name}.json"


@dataclass(frozen=True, slots=True)
class Search:
    """What searching events takes; without an embedder it ranks by words alone."""

    index: EventIndex
    register: SearchRegister
    fences: ErasureStore
    """Events of users who have a fence are not indexed."""
    embedder: Embedder | None = None

    @property
    def model(self) -> str | None:
        """The configured embeddings' model."""
        return None if self.embedder is None else self.embedder.name

    @property
    def dimensions(self) -> int:
        """The configured embeddings' dimensions; 0 without a model."""
        return 0 if self.embedder is None else self.embedder.dimensions
