"""HoldStore on Azure Blob Storage: one blob a change, outside of the users' prefixes."""

from memnet.adapters.azure.blob_container import BlobContainer
from memnet.domain.hold import HoldKey, HoldPlace, key_of, tenant_prefix
from memnet.ports import Page


class BlobHoldStore:
    """The HoldStore port; errors as the port says."""

    def __init__(self, container: BlobContainer) -> None:
        """Use the container of the documents."""
        self._container = container

    async def create(self, key: HoldKey, data: bytes) -> None:
        """Create a change. Raises StoreConflict, Unavailable."""
        await self._container.write(key.blob_name, data, replaces=None, metadata={})

    async def read(self, key: HoldKey) -> bytes | None:
        """Read one change. Raises Unavailable."""
        stored = await self._container.read(key.blob_name)
        return None if stored is None else stored.data

    async def list(self, place: HoldPlace, *, limit: int, cursor: str | None) -> Page[HoldKey]:
        """List the changes of one place, the oldest first. Raises InvalidCursor, Unavailable."""
        return await self._list(place.prefix, limit, cursor)

    async def list_of_tenant(self, tenant_id: str, *, limit: int, cursor: str | None) -> Page[HoldKey]:
        """List the changes of all places of a tenant. Raises InvalidIdentifier, InvalidCursor, Unavailable."""
        return await self._list(tenant_prefix(tenant_id), limit, cursor)

    async def _list(self, prefix: str, limit: int, cursor: str | None) -> Page[HoldKey]:
        blobs, following = await self._container.list(prefix, limit=limit, cursor=cursor, metadata=False)
        found = [key_of(str(blob.name)) for blob in blobs]
        return Page([key for key in found if key is not None], following)
