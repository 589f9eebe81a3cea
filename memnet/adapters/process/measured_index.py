"""An EventIndex that records how long searches take and how many events they find."""

from collections.abc import Sequence
from time import perf_counter

from memnet.domain.core.errors import MemnetError
from memnet.domain.core.metric import SEARCH_DURATION, SEARCH_RESULTS
from memnet.domain.core.scope import UserScope
from memnet.domain.events.event_search import EventQuery, IndexDocument, Vector
from memnet.domain.events.index_layout import IndexVersion
from memnet.ports import (
    EventHit,
    EventIndex,
    Hits,
    IndexMissing,
    Telemetry,
)

FOUND, EMPTY, MISSING = "found", "empty", "index_missing"
"""Outcomes, in addition to the codes of errors."""


class MeasuredIndex:
    """The EventIndex port around another one; errors as that one says."""

    def __init__(self, inner: EventIndex, telemetry: Telemetry) -> None:
        self._inner = inner
        self._telemetry = telemetry

    def new_name(self, suffix: str) -> str:
        return self._inner.new_name(suffix)

    async def create(self, version: IndexVersion) -> None:
        await self._inner.create(version)

    async def matches(self, version: IndexVersion) -> bool:
        return await self._inner.matches(version)

    async def drop(self, name: str) -> None:
        await self._inner.drop(name)

    async def upload(self, name: str, documents: Sequence[IndexDocument]) -> frozenset[str]:
        return await self._inner.upload(name, documents)

    async def delete(self, name: str, keys: Sequence[str]) -> frozenset[str]:
        return await self._inner.delete(name, keys)

    async def search(self, name: str, query: EventQuery, vector: Vector | None) -> Hits:
        """Search, and record the duration and the outcome."""
        started = perf_counter()
        try:
            hits = await self._inner.search(name, query, vector)
        except MemnetError as error:
            self._telemetry.record(SEARCH_DURATION, perf_counter() - started, outcome=error.code.value)
            raise
        except IndexMissing:
            self._telemetry.record(SEARCH_DURATION, perf_counter() - started, outcome=MISSING)
            raise
        outcome = FOUND if hits.items else EMPTY
        self._telemetry.record(SEARCH_DURATION, perf_counter() - started, outcome=outcome)
        self._telemetry.record(SEARCH_RESULTS, len(hits.items), outcome=outcome)
        return hits

    async def list(self, name: str, tenant_id: str | None, *, limit: int, after: str | None) -> Sequence[EventHit]:
        return await self._inner.list(name, tenant_id, limit=limit, after=after)

    async def list_of_user(self, name: str, scope: UserScope, *, limit: int, after: str | None = None) -> Sequence[str]:
        """List."""
        return await self._inner.list_of_user(name, scope, limit=limit, after=after)

    async def ping(self) -> None:
        await self._inner.ping()
