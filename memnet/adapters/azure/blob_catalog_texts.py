"""CatalogTexts on Azure Blob Storage: one blob a version, below catalog/."""

from memnet.adapters.azure.blob_container import BlobContainer
from memnet.domain.catalog_text import TextName

MOST_KEPT = 256
"""Texts that a process keeps once it has read them; it reads any others again."""


class BlobCatalogTexts:
    """The CatalogTexts port; errors as the port says."""

    def __init__(self, container: BlobContainer) -> None:
        """Use the container of the documents."""
        self._container = container
        self._kept: dict[TextName, bytes] = {}

    async def read(self, name: TextName) -> bytes | None:
        """Read a text, from the container at most once while it is kept: a text never changes. Raises Unavailable."""
        if name not in self._kept:
            stored = await self._container.read(name.blob_name)
            if stored is None:
                return None
            if len(self._kept) == MOST_KEPT:
                self._kept.clear()
            self._kept[name] = stored.data
        return self._kept[name]

    async def create(self, name: TextName, data: bytes) -> None:
        """Create a text. Raises StoreConflict, Unavailable."""
        await self._container.write(name.blob_name, data, replaces=None, metadata={})
