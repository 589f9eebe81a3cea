"""DocumentStore on Azure Blob Storage: one blob per document, guarded by its ETag, mirrored in a process's cache."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Protocol

from azure.storage.blob import BlobProperties

from memnet.adapters.azure.blob_catalog_texts import BlobCatalogTexts
from memnet.adapters.azure.blob_container import BlobContainer
from memnet.domain.document import DocumentKey, ETag, StorageETag, UserScope
from memnet.domain.envelope import DocumentSummary
from memnet.domain.errors import InvalidIdentifier
from memnet.ports import ListedDocument, Page, StoredDocument


class Cache(Protocol):
    """The documents this process touched last."""

    def recall(self, key: DocumentKey) -> StoredDocument | None:
        """Return the entry, or None."""
        ...

    def remember(self, key: DocumentKey, document: StoredDocument) -> None:
        """Keep the entry, in place of an older one."""
        ...

    def forget(self, key: DocumentKey) -> None:
        """Drop the entry if there is one."""
        ...


class BlobDocumentStore:
    """The DocumentStore port; errors as the port says."""

    def __init__(
        self, container: BlobContainer, cache: Cache, before_writing: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """`cache` is this process's own; what it holds is validated with the store on every `get`.

        `before_writing` is awaited by every `put` but an erasure's; it writes nothing if that raises.
        """
        self.texts = BlobCatalogTexts(container)
        self._container = container
        self._cache = cache
        self._before_writing = before_writing

    async def get(self, key: DocumentKey) -> StoredDocument | None:
        """Read the current bytes; an unchanged document costs a 304 without a body. Raises Unavailable."""
        known = self._cache.recall(key)
        current = await self._container.read(key.blob_name, known)
        # Meanwhile another task may have remembered something newer than what this read found.
        if current is not known and self._cache.recall(key) is known:
            if current is None:
                self._cache.forget(key)
            else:
                self._cache.remember(key, current)
        return current

    def recall(self, key: DocumentKey) -> StoredDocument | None:
        """Return what this process last read or wrote, perhaps stale."""
        return self._cache.recall(key)

    async def put(
        self,
        key: DocumentKey,
        data: bytes,
        summary: DocumentSummary,
        *,
        replaces: StorageETag | None,
        known_at: datetime | None = None,
    ) -> None:
        """Write iff the stored tag still is `replaces`.

        Raises StoreConflict, ErasureRunning, Unavailable, and what `check_writing` raises.
        """
        try:
            # An erasure's own tombstones are kept out neither by the end of the tenant nor by the catalog.
            if known_at is None:
                await self.check_writing(key.scope.tenant_id)
            tag = await self._container.write(
                key.blob_name,
                data,
                replaces=replaces,
                metadata=_metadata(summary),
                # One that is there is fenced by the tombstone that an erasure writes over it.
                of=key.scope if replaces is None else None,
                known_at=known_at,
            )
        except BaseException:
            # Refused, unknown or cancelled: what this write was based on is no longer to be trusted.
            known = self._cache.recall(key)
            if known is not None and known.storage_etag == replaces:
                self._cache.forget(key)
            raise
        self._cache.remember(key, StoredDocument(data, tag))

    async def list(self, scope: UserScope, prefix: str, *, limit: int, cursor: str | None) -> Page[ListedDocument]:
        """List one user's documents in name order. Raises InvalidCursor, Unavailable."""
        return await self._page(f"{scope.prefix}documents/{prefix}", limit, cursor)

    async def list_all(self, *, limit: int, cursor: str | None) -> Page[ListedDocument]:
        """List everybody's documents in name order; pages over the other blobs are short or empty.

        Raises InvalidCursor, Unavailable.
        """
        return await self._page("tenants/", limit, cursor)

    async def check(self, scope: UserScope) -> None:
        """Look for the fence of an erasure. Raises ErasureRunning, Unavailable."""
        await self._container.check_fence(scope)

    async def check_writing(self, tenant_id: str) -> None:
        """Await `before_writing`, and look for the end of the tenant. Raises TenantEnded, Unavailable."""
        if self._before_writing is not None:
            await self._before_writing()
        await self._container.check_tenant(tenant_id)

    async def ping(self) -> None:
        """Ask for the container's properties. Raises Unavailable."""
        await self._container.ping()

    async def _page(self, prefix: str, limit: int, cursor: str | None) -> Page[ListedDocument]:
        blobs, following = await self._container.list(prefix, limit=limit, cursor=cursor, metadata=True)
        rows = [row for row in map(_row, blobs) if row is not None]
        return Page(rows, following)


def _row(blob: BlobProperties) -> ListedDocument | None:
    """The listing's row; None for a blob that is not a document of ours."""
    try:
        return ListedDocument(_key(str(blob.name)), _summary(blob.metadata or {}))
    except (InvalidIdentifier, KeyError, ValueError):
        return None


def _key(name: str) -> DocumentKey:
    match name.split("/", 6):
        case ["tenants", tenant_id, "users", user_id, "documents", namespace, path]:
            return DocumentKey(UserScope(tenant_id, user_id), namespace, path)
    raise ValueError(name)


def _metadata(summary: DocumentSummary) -> dict[str, str]:
    return {
        "etag": summary.etag,
        "sequence": str(summary.sequence),
        "updated_at": summary.updated_at,
        "size": str(summary.size),
        "deleted": "true" if summary.deleted else "false",
        "outbox": str(summary.outbox),
    }


def _summary(metadata: dict[str, str]) -> DocumentSummary:
    return DocumentSummary(
        etag=ETag(metadata["etag"]),
        sequence=int(metadata["sequence"]),
        updated_at=metadata["updated_at"],
        size=int(metadata["size"]),
        deleted=metadata["deleted"] == "true",
        outbox=int(metadata["outbox"]),
    )
