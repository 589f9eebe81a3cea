"""The stores of documents, audit records, events and small records.

Whatever creates something of a user raises ErasureRunning, too, while the user's memory is erased, and so does every
write of a record; a document that exists is fenced by a tombstone in its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from memnet.domain import envelope
from memnet.domain.catalog_text import TextName
from memnet.domain.document import DocumentKey, StorageETag, UserScope
from memnet.domain.envelope import DocumentSummary, DocumentView
from memnet.domain.event import EventKey
from memnet.domain.record import RecordKey, RecordKind

if TYPE_CHECKING:
    from memnet.ports.sealing import Vault


class StoreConflict(Exception):
    """The store refused a conditional write: its precondition does not hold.

    Nothing may be concluded for the client from it: a client library's own retry reports it, too, for a write
    that an earlier try applied. Read again and decide again.
    """


@dataclass(frozen=True)
class StoredDocument:
    """The bytes of a document's blob as `envelope.dump` made them, and the tag that guards the next write."""

    data: bytes
    storage_etag: StorageETag

    @cached_property
    def view(self) -> DocumentView | None:
        """What clients see of it, worked out once; None for a deleted document. Raises HistoryBroken."""
        return envelope.view(envelope.load(self.data))


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """One row of a listing."""

    key: DocumentKey
    summary: DocumentSummary


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some rows and where to go on; `next_cursor` is None at the end. A page may be shorter than its limit."""

    items: Sequence[T]
    next_cursor: str | None


class CatalogTexts(Protocol):
    """The blobs below catalog/: the text of every version of a profile, schema and prompt that was ever used.

    A text is created once and never changed or removed, so one that was read may be kept.
    """

    async def read(self, name: TextName) -> bytes | None:
        """Read a text; None if there is none. Raises Unavailable."""
        ...

    async def create(self, name: TextName, data: bytes) -> None:
        """Create a text. Raises StoreConflict if there is one, and Unavailable when the outcome is unknown."""
        ...


class DocumentStore(Protocol):
    """The blobs below documents/. Reads are strongly consistent; every write is conditional."""

    @property
    def texts(self) -> CatalogTexts:
        """The texts beside the documents: those of the schema versions that the documents name are among them."""
        ...

    async def get(self, key: DocumentKey) -> StoredDocument | None:
        """Read the current bytes (validated with the store, one round trip). Raises Unavailable."""
        ...

    def recall(self, key: DocumentKey) -> StoredDocument | None:
        """Return what this process last read or wrote, perhaps stale, without asking the store."""
        ...

    async def put(
        self,
        key: DocumentKey,
        data: bytes,
        summary: DocumentSummary,
        *,
        replaces: StorageETag | None,
        known_at: datetime | None = None,
    ) -> None:
        """Write iff the stored tag still is `replaces`; None: iff there is no blob yet.

        With `known_at` it does not take effect much later than that: Azure Storage refuses it 15 minutes after.
        Raises StoreConflict if not, and Unavailable when the outcome is unknown: the write may have been applied,
        or may be applied later.
        """
        ...

    async def list(self, scope: UserScope, prefix: str, *, limit: int, cursor: str | None) -> Page[ListedDocument]:
        """List the documents (deleted ones too) whose "{namespace}/{path}" starts with `prefix`, in name order.

        `limit` is 1 to 5000 rows. Raises InvalidCursor, Unavailable.
        """
        ...

    async def list_all(self, *, limit: int, cursor: str | None) -> Page[ListedDocument]:
        """List the documents of every tenant, for the sweeper; rows and errors as in `list`."""
        ...

    async def check(self, scope: UserScope) -> None:
        """Ask the store (one round trip) whether the user may be written for. Raises ErasureRunning, Unavailable."""
        ...

    async def check_writing(self, tenant_id: str) -> None:
        """Raise what every `put` for the tenant would raise now: TenantEnded, CatalogConflict, Unavailable."""
        ...

    async def ping(self) -> None:
        """Ask the store whether it can serve (one round trip). Raises Unavailable."""
        ...


class AuditLog(Protocol):
    """The records below audit/ and the baselines below baselines/: created once, never changed.

    Records are removed only once a baseline stands for them, and never the newest of a document. The log takes
    and gives bytes: its callers seal and open the values.
    """

    @property
    def vault(self) -> "Vault":
        """What the values of records are sealed with."""
        ...

    async def append(self, scope: UserScope, change_id: str, data: bytes) -> None:
        """Create the record; if it stands already with the same bytes, that is success.

        Raises HistoryBroken if other bytes stand there, Unavailable when the outcome is unknown.
        """
        ...

    def stands(self, scope: UserScope, change_id: str) -> bool:
        """Say whether this process knows that the record stands, without asking the store; may forget."""
        ...

    async def read(self, scope: UserScope, change_id: str) -> bytes | None:
        """Read one record; None if there is none. Raises Unavailable."""
        ...

    async def list(self, scope: UserScope, prefix: str, *, limit: int, cursor: str | None) -> Page[str]:
        """List the change ids that start with `prefix`, in name order. Raises InvalidCursor, Unavailable."""
        ...

    async def delete(self, scope: UserScope, change_id: str, *, known_at: datetime | None = None) -> None:
        """Remove one record; a missing one is fine.

        With `known_at`, the moment at which the caller knew that it may go, it does not take effect much later than
        that: Azure Storage refuses it 15 minutes after. Raises Unavailable.
        """
        ...

    async def append_baseline(self, scope: UserScope, change_id: str, data: bytes) -> None:
        """Create the baseline of a change, as `append` does a record. Raises HistoryBroken, Unavailable."""
        ...

    async def read_baseline(self, scope: UserScope, change_id: str) -> bytes | None:
        """Read the baseline of a change; None if there is none. Raises Unavailable."""
        ...

    async def list_baselines(self, scope: UserScope, prefix: str, *, limit: int, cursor: str | None) -> Page[str]:
        """List the changes that have a baseline, as `list` does those that have a record.

        Raises InvalidCursor, Unavailable.
        """
        ...

    async def delete_baseline(self, scope: UserScope, change_id: str, *, known_at: datetime | None = None) -> None:
        """Remove the baseline of a change; a missing one is fine. `known_at` as of a record. Raises Unavailable."""
        ...


@dataclass(frozen=True, slots=True)
class Marked:
    """A note that an event has to be indexed, and since when it stands."""

    key: EventKey
    mark_id: str
    since: datetime


@dataclass(frozen=True, slots=True)
class ListedEvent:
    """A stored event, and since when it stands."""

    key: EventKey
    since: datetime


class EventStore(Protocol):
    """The blobs below events/, created once and never changed, and the marks of those not known to be indexed."""

    async def create(self, key: EventKey, data: bytes) -> None:
        """Create the event. Raises StoreConflict if there is one, Unavailable when the outcome is unknown."""
        ...

    async def get(self, key: EventKey) -> bytes | None:
        """Read one event; None if there is none. Raises Unavailable."""
        ...

    async def list(self, tenant_id: str | None, *, limit: int, cursor: str | None) -> Page[EventKey]:
        """List the events of one tenant, or of all, in name order. Raises InvalidCursor, Unavailable."""
        ...

    async def list_of_user(self, scope: UserScope, *, limit: int, cursor: str | None) -> Page[ListedEvent]:
        """List the events of one user in name order. Raises InvalidCursor, Unavailable."""
        ...

    async def delete(self, key: EventKey, *, known_at: datetime | None = None) -> None:
        """Remove the event; a missing one is fine, and its marks stay.

        With `known_at`, the moment at which the caller knew that it may go, it does not take effect much later than
        that: Azure Storage refuses it 15 minutes after. Raises Unavailable.
        """
        ...

    async def mark(self, key: EventKey, mark_id: str) -> None:
        """Note durably that the event has to be indexed. Each write has its own mark, which nobody else's end takes
        away; the same one again is fine. Raises Unavailable.
        """
        ...

    async def unmark(self, key: EventKey, mark_id: str) -> None:
        """Take the note away; a missing one is fine. Raises Unavailable."""
        ...

    async def list_marked(self, *, limit: int, cursor: str | None) -> Page[Marked]:
        """List the marks of all tenants in name order. Raises InvalidCursor, Unavailable."""
        ...

    async def list_marked_of_user(self, scope: UserScope, *, limit: int, cursor: str | None) -> Page[Marked]:
        """List the marks of one user's events in name order. Raises InvalidCursor, Unavailable."""
        ...


class RecordStore(Protocol):
    """The small records of users. Reads are strongly consistent; every write is conditional."""

    async def read(self, key: RecordKey) -> StoredDocument | None:
        """Read a record; None if there is none. Raises Unavailable."""
        ...

    async def write(self, key: RecordKey, data: bytes, *, replaces: StorageETag | None) -> StorageETag:
        """Write iff the tag still is `replaces` (None: iff there is no record); return the new tag.

        Raises StoreConflict, and Unavailable when the outcome is unknown.
        """
        ...

    async def delete(self, key: RecordKey, *, tag: StorageETag | None = None, known_at: datetime | None = None) -> None:
        """Remove a record, with `tag` iff it still is the one of that tag; a missing one is fine.

        With `known_at`, the moment at which the caller knew that it may go, it does not take effect much later than
        that: Azure Storage refuses it 15 minutes after. Raises StoreConflict if it is another one, Unavailable when the
        outcome is unknown.
        """
        ...

    async def list(self, scope: UserScope, kind: RecordKind, *, limit: int, cursor: str | None) -> Page[RecordKey]:
        """List the records of one kind in name order. Raises InvalidCursor, Unavailable."""
        ...

    async def list_of_tenant(
        self, tenant_id: str, kind: RecordKind, *, limit: int, cursor: str | None
    ) -> Page[RecordKey]:
        """List the records of one kind of all users of a tenant, in name order; pages may be short or empty.

        For jobs: it may take as long as everything the tenant has stored. Raises InvalidCursor, Unavailable.
        """
        ...
