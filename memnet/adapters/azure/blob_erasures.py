"""ErasureStore on Azure Blob Storage: one blob a running erasure, one a receipt, outside of the users' prefixes."""

from collections.abc import Sequence

from memnet.adapters.azure.blob_container import BlobContainer
from memnet.domain.document import StorageETag, UserScope
from memnet.domain.erasure import fence_name, fenced, fences_of
from memnet.domain.erasure_receipt import receipt_name, receipts_of
from memnet.domain.tenant_erasure import ENDED, ended_name
from memnet.ports import Page, StoredDocument

PAGE = 1000
RUNS = "runs"
"""The metadata of a tenant's record whose erasure runs."""


class BlobErasureStore:
    """The ErasureStore port; errors as the port says."""

    def __init__(self, container: BlobContainer) -> None:
        """Use the container of the documents."""
        self._container = container

    async def check(self, scope: UserScope) -> None:
        """Look for the user's fence. Raises ErasureRunning, TenantEnded, Unavailable."""
        await self._container.check_fence(scope)

    async def check_tenant(self, tenant_id: str) -> None:
        """Look for the end of the tenant. Raises TenantEnded, InvalidIdentifier, Unavailable."""
        await self._container.check_tenant(tenant_id)

    async def read_end(self, tenant_id: str) -> StoredDocument | None:
        """Read the record of a tenant's end. Raises InvalidIdentifier, Unavailable."""
        return await self._container.read(ended_name(tenant_id))

    async def write_end(self, tenant_id: str, data: bytes, *, replaces: StorageETag | None, runs: bool) -> StorageETag:
        """Write it conditionally. Raises StoreConflict, InvalidIdentifier, Unavailable."""
        metadata = {RUNS: "true"} if runs else {}
        return await self._container.write(ended_name(tenant_id), data, replaces=replaces, metadata=metadata)

    async def list_ending(self) -> Sequence[str]:
        """List the records that run. Raises Unavailable."""
        found: list[str] = []
        cursor: str | None = None
        while True:
            blobs, cursor = await self._container.list(ENDED, limit=PAGE, cursor=cursor, metadata=True)
            running = [str(blob.name) for blob in blobs if RUNS in (blob.metadata or {})]
            found += [name.removeprefix(ENDED).removesuffix(".json") for name in running]
            if cursor is None:
                return found

    async def erasing(self, tenant_id: str | None) -> frozenset[UserScope]:
        """List the fences. Raises InvalidIdentifier, Unavailable."""
        found = set[UserScope]()
        cursor: str | None = None
        while True:
            blobs, cursor = await self._container.list(fences_of(tenant_id), limit=PAGE, cursor=cursor, metadata=False)
            found |= {scope for blob in blobs if (scope := fenced(str(blob.name))) is not None}
            if cursor is None:
                return frozenset(found)

    async def read(self, scope: UserScope) -> StoredDocument | None:
        """Read the user's fence. Raises Unavailable."""
        return await self._container.read(fence_name(scope))

    async def write(self, scope: UserScope, data: bytes, *, replaces: StorageETag | None) -> StorageETag:
        """Write the fence conditionally. Raises StoreConflict, Unavailable."""
        return await self._container.write(fence_name(scope), data, replaces=replaces, metadata={})

    async def lift(self, scope: UserScope, *, tag: StorageETag) -> None:
        """Remove the fence conditionally. Raises StoreConflict, Unavailable."""
        await self._container.delete(fence_name(scope), tag=tag)

    async def create_receipt(self, tenant_id: str, erasure_id: str, data: bytes) -> None:
        """Create the receipt. Raises StoreConflict, Unavailable."""
        await self._container.write(receipt_name(tenant_id, erasure_id), data, replaces=None, metadata={})

    async def read_receipt(self, tenant_id: str, erasure_id: str) -> bytes | None:
        """Read a receipt. Raises InvalidIdentifier, Unavailable."""
        stored = await self._container.read(receipt_name(tenant_id, erasure_id))
        return None if stored is None else stored.data

    async def list_receipts(self, tenant_id: str, *, limit: int, cursor: str | None) -> Page[str]:
        """List a tenant's receipts. Raises InvalidIdentifier, InvalidCursor, Unavailable."""
        prefix = receipts_of(tenant_id)
        blobs, following = await self._container.list(prefix, limit=limit, cursor=cursor, metadata=False)
        names = [str(blob.name) for blob in blobs]
        return Page([name.removeprefix(prefix).removesuffix(".json") for name in names], following)
