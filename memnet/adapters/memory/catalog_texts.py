"""CatalogTexts in a dict."""

import asyncio

from memnet.domain.catalog_text import TextName
from memnet.ports import StoreConflict


class MemoryCatalogTexts:
    """The CatalogTexts port for tests; errors as the port says, except that it is never unavailable."""

    def __init__(self) -> None:
        """Start empty."""
        self._texts: dict[TextName, bytes] = {}

    async def read(self, name: TextName) -> bytes | None:
        """Read a text."""
        await asyncio.sleep(0)
        return self._texts.get(name)

    async def create(self, name: TextName, data: bytes) -> None:
        """Create a text. Raises StoreConflict."""
        await asyncio.sleep(0)
        if name in self._texts:
            raise StoreConflict
        self._texts[name] = data
