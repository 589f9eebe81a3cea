"""What the operations need from outside, as Protocols. Each method's docstring lists what it raises."""

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from memnet.domain import envelope
from memnet.domain.document import DocumentKey, StorageETag, UserScope
from memnet.domain.envelope import DocumentSummary, DocumentView
from memnet.domain.event import EventKey
from memnet.domain.event_search import EventQuery, IndexDocument, Vector
from memnet.domain.search_layout import IndexVersion, Layout


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


@dataclass(frozen=True, slots=True)
class Marked:
    """A note that an event has to be indexed, and since when it stands."""

    key: EventKey
    mark_id: str
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


class IndexMissing(Exception):
    """There is no index of this name."""


@dataclass(frozen=True, slots=True)
class EventHit:
    """One result: the event's JSON as it was indexed, and how well it matches."""

    key: str
    data: bytes
    score: float


@dataclass(frozen=True, slots=True)
class Hits:
    """Some results, best first, and whether there are more behind them."""

    items: Sequence[EventHit]
    more: bool


class EventIndex(Protocol):
    """Full-text and vector indexes of events. Derived, eventually consistent, and safe to lose."""

    def new_name(self, suffix: str) -> str:
        """Return the name for a new index; `suffix` is of lower-case letters and digits."""
        ...

    async def create(self, version: IndexVersion) -> None:
        """Create the index, empty; one that is there already is left as it is. Raises Unavailable."""
        ...

    async def drop(self, name: str) -> None:
        """Remove the index with all that is in it; a missing one is fine. Raises Unavailable."""
        ...

    async def upload(self, name: str, documents: Sequence[IndexDocument]) -> frozenset[str]:
        """Add or replace documents, any number of them; return the keys of those that were not taken.

        Raises IndexMissing, Unavailable when it is unknown which were.
        """
        ...

    async def delete(self, name: str, keys: Sequence[str]) -> frozenset[str]:
        """Remove documents, missing ones too; return the keys that could not be. Raises IndexMissing, Unavailable."""
        ...

    async def search(self, name: str, query: EventQuery, vector: Vector | None) -> Hits:
        """Return at most `query.top` hits after the first `query.skip`, best first, ranked by words and `vector`.

        Ranked by words alone, equals come in the order of their keys. Raises IndexMissing, Unavailable.
        """
        ...

    async def list(self, name: str, tenant_id: str | None, *, limit: int, after: str | None) -> Sequence[EventHit]:
        """Return up to `limit` (1 to 999) documents of one tenant, or of all, in key order, from behind `after` on.

        Scores mean nothing. Fewer than `limit` are the end. Raises IndexMissing, Unavailable.
        """
        ...

    async def ping(self) -> None:
        """Ask the service whether it can serve (one round trip). Raises Unavailable."""
        ...


class SearchRegister(Protocol):
    """Small records about the indexes, kept outside of every user's memory."""

    async def recent(self) -> Layout | None:
        """Return the layout as it stood at most `fresh_seconds` before the answer; None if there is none yet.

        Raises Unavailable.
        """
        ...

    @property
    def fresh_seconds(self) -> float:
        """How much older than the newest layout one may be that a process still works by."""
        ...

    async def read(self, name: str) -> StoredDocument | None:
        """Read a record as it stands. Raises Unavailable."""
        ...

    async def write(self, name: str, data: bytes, *, replaces: StorageETag | None) -> StorageETag:
        """Write a record iff its tag still is `replaces` (None: iff there is none); return the new tag.

        Raises StoreConflict, and Unavailable when the outcome is unknown.
        """
        ...


class Embedder(Protocol):
    """Turns texts into vectors that lie close together when their meanings do."""

    @property
    def name(self) -> str:
        """The model; recorded in the index, whose vectors all come from one."""
        ...

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return one vector per text. Raises Unavailable."""
        ...


@dataclass(frozen=True, slots=True)
class Search:
    """The ports that searching takes; without an embedder it goes by words alone."""

    index: EventIndex
    register: SearchRegister
    embedder: Embedder | None = None

    @property
    def model(self) -> str | None:
        """The configured embeddings' model."""
        return None if self.embedder is None else self.embedder.name

    @property
    def dimensions(self) -> int:
        """The configured embeddings' dimensions; 0 without a model."""
        return 0 if self.embedder is None else self.embedder.dimensions


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

    async def take_of_principal(self, tenant_id: str, principal: str) -> None:
        """Count one request that concerns no single user. Raises QuotaExceeded as `take` does."""
        ...


class SemanticRouter(Protocol):
    """Ranks route candidates by meaning, where words alone do not decide."""

    async def score(self, text: str, candidates: Sequence[str]) -> Sequence[float] | None:
        """Return one similarity in 0..1 per candidate's text, or None when no ranking is to be had. Raises nothing."""
        ...
