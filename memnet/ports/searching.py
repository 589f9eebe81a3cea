"""The index of events, embeddings, and semantic routing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memnet.domain.core.scope import UserScope
from memnet.domain.events.event_search import EventQuery, IndexDocument, Vector
from memnet.domain.events.index_layout import IndexVersion


class IndexMissing(Exception):
    """There is no index of this name."""


@dataclass(frozen=True, slots=True)
class EventHit:
    """One result: the indexed JSON of the event, and its score."""

    key: str
    data: bytes
    score: float


@dataclass(frozen=True, slots=True)
class Hits:
    """A page of results, best first, and whether more follow."""

    items: Sequence[EventHit]
    more: bool


class EventIndex(Protocol):
    """Full-text and vector indexes of events. Derived, eventually consistent, and safe to lose."""

    def new_name(self, suffix: str) -> str:
        """Return the name for a new index; `suffix` is of lower-case letters and digits."""

    async def create(self, version: IndexVersion) -> None:
        """Create an empty index; an existing one is kept. Raises Unavailable."""

    async def matches(self, version: IndexVersion) -> bool:
        """Return whether the index has the definition of `version`. Raises IndexMissing, Unavailable."""

    async def drop(self, name: str) -> None:
        """Delete the index and its documents; deleting a missing one succeeds. Raises Unavailable."""

    async def upload(self, name: str, documents: Sequence[IndexDocument]) -> frozenset[str]:
        """Add or replace any number of documents; return the keys of those that were refused.

        Raises IndexMissing; Unavailable: it is unknown which were written.
        """

    async def delete(self, name: str, keys: Sequence[str]) -> frozenset[str]:
        """Delete documents, existing or not; return the keys that remain. Raises IndexMissing, Unavailable."""

    async def search(self, name: str, query: EventQuery, vector: Vector | None) -> Hits:
        """Return at most `query.top` hits after the first `query.skip`, best first, ranked by words and `vector`.

        Results of equal score are ordered by key if words alone rank. Raises IndexMissing, Unavailable.
        """

    async def list(self, name: str, tenant_id: str | None, *, limit: int, after: str | None) -> Sequence[EventHit]:
        """Return up to `limit` (1 to 999) documents of one tenant, or of all, in key order, after the key `after`.

        Scores are meaningless. Fewer than `limit` documents are the last page. Raises IndexMissing, Unavailable.
        """

    async def list_of_user(self, name: str, scope: UserScope, *, limit: int, after: str | None = None) -> Sequence[str]:
        """Return the keys of up to `limit` (1 to 999) documents of one user, in key order, after the key `after`.

        Recent writes and deletions may not be visible yet. Raises IndexMissing, Unavailable.
        """

    async def ping(self) -> None:
        """Check that the service can be used, in one round trip. Raises Unavailable."""


class Embedder(Protocol):
    """Turns texts into vectors; similar texts have similar vectors."""

    @property
    def name(self) -> str:
        """The model. The index records it: all vectors of an index come from one model."""

    @property
    def dimensions(self) -> int:
        """The dimensions of a vector."""

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return one vector per text. Raises Unavailable."""


class SemanticRouter(Protocol):
    """Ranks route candidates by meaning when words alone do not decide."""

    async def score(self, text: str, candidates: Sequence[str]) -> Sequence[float] | None:
        """Return one similarity in 0..1 per candidate, or None if no ranking is available. Raises nothing."""
