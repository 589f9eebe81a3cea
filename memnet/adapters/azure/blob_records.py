"""RecordStore on Azure Blob Storage: one small blob a record, beside the user's documents."""

from datetime import datetime

from memnet.adapters.azure.blob_container import BlobContainer
from memnet.domain.document import StorageETag, UserScope
from memnet.domain.errors import InvalidIdentifier
from memnet.domain.identifiers import check_identifier
from memnet.domain.record import RecordKey, RecordKind
from memnet.ports import Page, StoredDocument

_SUFFIX = ".json"


class BlobRecordStore:
    """The RecordStore port; errors as the port says."""

    def __init__(self, container: BlobContainer) -> None:
        """Use the container of the documents."""
        self._container = container

    async def read(self, key: RecordKey) -> StoredDocument | None:
        """Read a record. Raises Unavailable."""
        return await self._container.read(key.blob_name)

    async def write(self, key: RecordKey, data: bytes, *, replaces: StorageETag | None) -> StorageETag:
        """Write a record conditionally. Raises StoreConflict, ErasureRunning, Unavailable."""
        return await self._container.write(key.blob_name, data, replaces=replaces, metadata={}, of=key.scope)

    async def delete(self, key: RecordKey, *, tag: StorageETag | None = None, known_at: datetime | None = None) -> None:
        """Remove a record, with `tag` conditionally. Raises StoreConflict, Unavailable."""
        await self._container.delete(key.blob_name, tag=tag, known_at=known_at)

    async def list(self, scope: UserScope, kind: RecordKind, *, limit: int, cursor: str | None) -> Page[RecordKey]:
        """List a user's records of one kind in name order. Raises InvalidCursor, Unavailable."""
        return await self._list(f"{scope.prefix}{kind}/", kind, limit, cursor)

    async def list_of_tenant(
        self, tenant_id: str, kind: RecordKind, *, limit: int, cursor: str | None
    ) -> Page[RecordKey]:
        """List a tenant's records of one kind; pages over the other blobs are short or empty.

        Blob Storage lists by prefix alone, and in the layout the user comes before the kind. Raises InvalidIdentifier,
        InvalidCursor, Unavailable.
        """
        return await self._list(f"tenants/{check_identifier('tenant_id', tenant_id)}/users/", kind, limit, cursor)

    async def _list(self, prefix: str, kind: RecordKind, limit: int, cursor: str | None) -> Page[RecordKey]:
        blobs, following = await self._container.list(prefix, limit=limit, cursor=cursor, metadata=False)
        found = [_key(str(blob.name), kind) for blob in blobs]
        return Page([key for key in found if key is not None], following)


def _key(name: str, kind: RecordKind) -> RecordKey | None:
    """The record of a blob; None for a blob that is not one of this kind."""
    parts = name.split("/", 5)
    if len(parts) < 6 or parts[4] != kind or not name.endswith(_SUFFIX):
        return None
    try:
        return RecordKey(UserScope(parts[1], parts[3]), kind, parts[5].removesuffix(_SUFFIX))
    except InvalidIdentifier:
        return None
