"""The changes of legal holds: one blob each, created once, never changed, outside the users' prefixes."""

from memnet.domain.governance.legal_hold import HoldKey, HoldTarget, key_of, tenant_prefix
from memnet.ports import Page
from memnet.stores.blobs import Store


class HoldStore(Store):
    """The changes of legal holds. They are never removed."""

    async def create(self, key: HoldKey, data: bytes) -> None:
        """Create a change. Raises StoreConflict if it exists, Unavailable when the outcome is unknown."""
        await self._blobs.storage.put(key.blob_name, data, replaces=None)

    async def read(self, key: HoldKey) -> bytes | None:
        """Return one change, or None if it does not exist. Raises Unavailable."""
        return await self._blobs.data(key.blob_name)

    async def list(self, target: HoldTarget, *, limit: int, cursor: str | None) -> Page[HoldKey]:
        """List the changes of the hold on one target, oldest first. Raises InvalidCursor, Unavailable."""
        return await self._blobs.rows(target.prefix, lambda blob: key_of(blob.name), limit=limit, cursor=cursor)

    async def list_of_tenant(self, tenant_id: str, *, limit: int, cursor: str | None) -> Page[HoldKey]:
        """List the changes of all holds of a tenant, target by target, oldest first.

        Raises InvalidIdentifier, InvalidCursor, Unavailable.
        """
        prefix = tenant_prefix(tenant_id)
        return await self._blobs.rows(prefix, lambda blob: key_of(blob.name), limit=limit, cursor=cursor)
