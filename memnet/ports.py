"""What the operations need from outside, as Protocols. Each method's docstring lists what it raises."""

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from memnet.domain import envelope
from memnet.domain.document import DocumentKey, StorageETag, UserScope
from memnet.domain.envelope import DocumentSummary, DocumentView


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


class DocumentStore(Protocol):
    """The blobs below documents/. Reads are strongly consistent; every write is conditional."""

    async def get(self, key: DocumentKey) -> StoredDocument | None:
        """Read the current bytes (validated with the store, one round trip). Raises Unavailable."""
        ...

    def recall(self, key: DocumentKey) -> StoredDocument | None:
        """Return what this process last read or wrote, perhaps stale, without asking the store."""
        ...

    async def put(
        self, key: DocumentKey, data: bytes, summary: DocumentSummary, *, replaces: StorageETag | None
    ) -> None:
        """Write iff the stored tag still is `replaces`; None: iff there is no blob yet.

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

    async def ping(self) -> None:
        """Ask the store whether it can serve (one round trip). Raises Unavailable."""
        ...


class AuditLog(Protocol):
    """The records below audit/: created once, never changed."""

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


class Clock(Protocol):
    """The time."""

    def now(self) -> datetime:
        """Return the current time in UTC, timezone-aware."""
        ...


class IdGenerator(Protocol):
    """Fresh identifiers."""

    def new(self) -> str:
        """Return a random UUID in its canonical text form."""
        ...


class Background(Protocol):
    """Work that need not be finished for the answer to be true."""

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` later in this process. It may be lost with the process; its failure is logged, not raised."""
        ...


class Quota(Protocol):
    """How much a user and a principal may ask for."""

    async def take(self, scope: UserScope, principal: str) -> None:
        """Count one request against both. Raises QuotaExceeded with `retry_after` in whole seconds."""
        ...


class SemanticRouter(Protocol):
    """Ranks route candidates by meaning, where words alone are ambiguous."""

    async def score(self, text: str, candidates: Sequence[str]) -> Sequence[float] | None:
        """Return one similarity in 0..1 per candidate text, or None when no ranking is to be had."""
        ...
