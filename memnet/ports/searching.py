"""The index of events, and meanings."""

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


class SemanticRouter(Protocol):
    """Ranks route candidates by meaning, where words alone do not decide."""

    async def score(self, text: str, candidates: Sequence[str]) -> Sequence[float] | None:
        """Return one similarity in 0..1 per candidate's text, or None when no ranking is to be had. Raises nothing."""
        ...
