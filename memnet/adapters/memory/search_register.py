"""SearchRegister in a dict. Every call yields to the event loop first, so that races show."""

import asyncio
from collections.abc import Mapping

from memnet.adapters.memory.tags import Tags
from memnet.domain.document import StorageETag
from memnet.domain.search_layout import LAYOUT, REGISTER, Layout, load_layout
from memnet.ports import StoreConflict, StoredDocument


class MemorySearchRegister:
    """The SearchRegister port for tests; nothing in it is ever out of date."""

    fresh_seconds = 0.0

    def __init__(self) -> None:
        """Start empty."""
        self._records: dict[str, StoredDocument] = {}
        self._tags = Tags()

    async def recent(self) -> Layout | None:
        """Return the layout as it stands."""
        stored = await self.read(LAYOUT)
        return None if stored is None else load_layout(stored.data)

    async def read(self, name: str) -> StoredDocument | None:
        """Read a record."""
        await asyncio.sleep(0)
        return self._records.get(name)

    async def write(self, name: str, data: bytes, *, replaces: StorageETag | None) -> StorageETag:
        """Write a record conditionally. Raises StoreConflict."""
        await asyncio.sleep(0)
        stored = self._records.get(name)
        if (stored.storage_etag if stored else None) != replaces:
            raise StoreConflict
        tag = self._tags.make()
        self._records[name] = StoredDocument(data, tag)
        return tag

    def holdings(self) -> Mapping[str, object]:
        """All that is stored, by the name of its blob."""
        return {f"{REGISTER}{name}.json": stored for name, stored in self._records.items()}

    def drop(self, name: str) -> None:
        """Take it out; a missing one is fine."""
        self._records.pop(name.removeprefix(REGISTER).removesuffix(".json"), None)
