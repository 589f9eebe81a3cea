"""The index of events, what is known of it, and meanings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memnet.domain.document import StorageETag, UserScope
from memnet.domain.event_search import EventQuery, IndexDocument, Vector
from memnet.domain.search_layout import IndexVersion, Layout
from memnet.ports.governance import Fences
from memnet.ports.storage import StoredDocument


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

    async def matches(self, version: IndexVersion) -> bool:
        """Say whether the index is as `create` would make it for `version`. Raises IndexMissing, Unavailable."""
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

    async def list_of_user(self, name: str, scope: UserScope, *, limit: int, after: str | None = None) -> Sequence[str]:
        """Return the keys of up to `limit` (1 to 999) documents of one user, in key order, from behind `after` on.

        What was just written or removed may not show yet. Raises IndexMissing, Unavailable.
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
    fences: Fences
    """Of whom nothing goes into an index."""
    embedder: Embedder | None = None

    @property
    def model(self) -> str | None:
        """The configured embeddings' model."""
        return None if self.embedder is None else self.embedder.name

    @property
    def dimensions(self) -> int:
        """The configured embeddings' dimensions; 0 without a model."""
        return 0 if self.embedder is None else self.embedder.dimensions


class SemanticRouter(Protocol):
    """Ranks route candidates by meaning, where words alone do not decide."""

    async def score(self, text: str, candidates: Sequence[str]) -> Sequence[float] | None:
        """Return one similarity in 0..1 per candidate's text, or None when no ranking is to be had. Raises nothing."""
        ...
