"""The storage: one container of named blobs. The stores in `memnet.stores` are built on it.

An adapter promises what this module says and nothing else: names, metadata and who may write are the stores' concern.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from memnet.domain.core.scope import StorageETag
from memnet.domain.documents import envelope
from memnet.domain.documents.envelope import DocumentView


class StoreConflict(Exception):
    """The precondition of a conditional write does not hold.

    It does not prove that the write was refused: a client library that retries reports it for a write that an earlier
    try applied. Read the blob and decide again.
    """


@dataclass(frozen=True)
class StoredBlob:
    """The bytes of a blob, and the entity tag that guards the next write."""

    data: bytes
    storage_etag: StorageETag

    @cached_property
    def view(self) -> DocumentView | None:
        """The client's view of a document's blob, computed once; None if deleted. Raises HistoryCorrupt."""
        return envelope.view(envelope.load(self.data))


@dataclass(frozen=True, slots=True)
class ListedBlob:
    """One row of a listing."""

    name: str
    etag: StorageETag
    last_modified: datetime
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Empty unless the listing asked for it."""
    copy: str = ""
    """Empty for the blob itself; "versionid=…" or "snapshot=…" for an earlier copy of it."""
    deleted_days: int | None = None
    """For a soft-deleted blob, how many whole days it still can be recovered; else None."""


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some rows, and the cursor of the next page; `next_cursor` is None at the end. A page may be short or empty."""

    items: Sequence[T]
    next_cursor: str | None


class BlobStorage(Protocol):
    """One container of blobs.

    Reads and listings are strongly consistent, and every write is conditional. Each method raises Unavailable when the
    service does not answer, refuses the identity, or is overloaded. Of a write, the outcome is then unknown: it may
    have been applied, or may be applied later.
    """

    async def get(self, name: str, known: StoredBlob | None = None) -> StoredBlob | None:
        """Return the blob, or None if it does not exist.

        Returns `known` itself if its entity tag is still current; then no body is transferred.
        """

    async def put(
        self,
        name: str,
        data: bytes,
        *,
        replaces: StorageETag | None,
        metadata: Mapping[str, str] | None = None,
        known_at: datetime | None = None,
    ) -> StorageETag:
        """Write the blob if its entity tag is `replaces`, or, with None, if it does not exist. Return the new tag.

        `known_at` dates the request, now by default: Azure Storage refuses a request 15 minutes after its date. Raises
        StoreConflict if the condition does not hold.
        """

    async def create_log(
        self, name: str, *, metadata: Mapping[str, str] | None = None, known_at: datetime | None = None
    ) -> None:
        """Create an empty append blob. `known_at` dates the request, as in `put`.

        Raises StoreConflict if a blob of this name exists.
        """

    async def append(self, name: str, data: bytes, *, offset: int, known_at: datetime | None = None) -> bool:
        """Append `data`, up to 4 MiB, to an append blob of exactly `offset` bytes; return False if there is no blob.

        So the same append is never applied twice, and never at another place (Append Block, REST API:
        x-ms-blob-condition-appendpos). An append never creates a blob. Raises StoreConflict if the blob has another
        length, which includes that an earlier try of this very call was applied.
        """

    async def delete(
        self, name: str, *, tag: StorageETag | None = None, copy: str = "", known_at: datetime | None = None
    ) -> None:
        """Delete the blob with its snapshots, with `tag` only if that is its tag. Deleting a missing blob succeeds.

        With `copy`, as a listing names it, delete this copy alone. `known_at` dates the request, as in `put`. `name`
        may be any name that a listing returns. Raises StoreConflict if the blob has another tag.
        """

    async def list(
        self, prefix: str, *, limit: int, cursor: str | None, metadata: bool = False, copies: bool = False
    ) -> Page[ListedBlob]:
        """List the blobs whose names start with `prefix`, in name order, 1 to 5000 rows a page.

        With `copies` the listing includes the versions, the snapshots and the soft-deleted blobs. Raises InvalidCursor
        unless `cursor` is from a page of the same prefix.
        """

    async def list_folders(self, prefix: str, *, limit: int, cursor: str | None) -> Page[str]:
        """List the folders directly below `prefix`, in name order: names up to and including their next slash.

        Raises InvalidCursor as `list` does.
        """

    async def ping(self) -> None:
        """Check that the container can be used, in one round trip."""
