"""The texts of the catalog below catalog/: one blob for each version of a profile, schema and prompt ever used."""

from memnet.domain.catalog.catalog import TextName
from memnet.stores.blobs import Blobs

MAX_TEXTS = 256
"""Texts that a process caches."""


class CatalogTexts:
    """The texts. Each is created once and never changed or deleted, so it may be cached."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._kept: dict[TextName, bytes] = {}

    async def read(self, name: TextName) -> bytes | None:
        """Return a text, or None if it does not exist. Raises Unavailable."""
        if name not in self._kept:
            data = await self._blobs.data(name.blob_name)
            if data is None:
                return None
            if len(self._kept) == MAX_TEXTS:
                self._kept.clear()
            self._kept[name] = data
        return self._kept[name]

    async def create(self, name: TextName, data: bytes) -> None:
        """Create a text. Raises StoreConflict if it exists, Unavailable when the outcome is unknown."""
        await self._blobs.storage.put(name.blob_name, data, replaces=None)
