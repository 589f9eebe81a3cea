"""SearchRegister on Azure Blob Storage: one small blob a record, below search/."""

import asyncio

from memnet.adapters.azure.blob_container import BlobContainer
from memnet.domain.document import StorageETag
from memnet.domain.search_layout import LAYOUT, REGISTER, Layout, load_layout
from memnet.ports import StoredDocument


class BlobSearchRegister:
    """The SearchRegister port; errors as the port says."""

    def __init__(self, container: BlobContainer, *, fresh_seconds: float = 2.0) -> None:
        """`fresh_seconds` is how long a layout that was read is taken for the newest."""
        self._container = container
        self._fresh_seconds = fresh_seconds
        self._known: StoredDocument | None = None
        self._layout: Layout | None = None
        self._asked_at: float | None = None

    @property
    def fresh_seconds(self) -> float:
        """How much older than the newest layout one may be that this process works by."""
        return self._fresh_seconds

    async def recent(self) -> Layout | None:
        """Return the layout, read anew (usually a 304) when what is known is too old. Raises Unavailable."""
        # The loop's time is that of a monotonic clock; it is taken before the read, so the age is never understated.
        now = asyncio.get_running_loop().time()
        if self._asked_at is None or now - self._asked_at >= self._fresh_seconds:
            stored = await self._container.read(_name(LAYOUT), self._known)
            if stored is not self._known or stored is None:
                self._known = stored
                self._layout = None if stored is None else load_layout(stored.data)
            self._asked_at = now
        return self._layout

    async def read(self, name: str) -> StoredDocument | None:
        """Read a record. Raises Unavailable."""
        return await self._container.read(_name(name))

    async def write(self, name: str, data: bytes, *, replaces: StorageETag | None) -> StorageETag:
        """Write a record conditionally. Raises StoreConflict, Unavailable."""
        self._asked_at = None if name == LAYOUT else self._asked_at
        tag = await self._container.write(_name(name), data, replaces=replaces, metadata={})
        self._asked_at = None if name == LAYOUT else self._asked_at
        return tag


def _name(name: str) -> str:
    return f"{REGISTER}{name}.json"
