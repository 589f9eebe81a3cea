"""EventStore in a dict. Every call yields to the event loop first, so that races show."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime

from memnet.adapters.memory.erasures import MemoryErasureStore
from memnet.domain import cursor as cursors
from memnet.domain.document import UserScope
from memnet.domain.event import MARKS, EventKey
from memnet.ports import Clock, ListedEvent, Marked, Page, StoreConflict


class MemoryEventStore:
    """The EventStore port for tests; errors as the port says, except that it is never unavailable."""

    def __init__(self, clock: Clock, fences: MemoryErasureStore | None = None) -> None:
        """Start empty; events and marks are dated by `clock`, and none is created for users with a fence."""
        self._fences = fences
        self._clock = clock
        self._events: dict[EventKey, bytes] = {}
        self._since: dict[EventKey, datetime] = {}
        self._marks: dict[str, Marked] = {}

    async def create(self, key: EventKey, data: bytes) -> None:
        """Create the event. Raises StoreConflict, ErasureRunning."""
        if self._fences is not None:
            await self._fences.check(key.scope)
        await asyncio.sleep(0)
        if key in self._events:
            raise StoreConflict
        self._events[key] = data
        self._since[key] = self._clock.now()

    async def get(self, key: EventKey) -> bytes | None:
        """Read one event."""
        await asyncio.sleep(0)
        return self._events.get(key)

    async def list(self, tenant_id: str | None, *, limit: int, cursor: str | None) -> Page[EventKey]:
        """List events in name order. Raises InvalidCursor."""
        prefix = "tenants/" if tenant_id is None else f"tenants/{tenant_id}/"
        names = {key.blob_name: key for key in self._events if key.blob_name.startswith(prefix)}
        found, following = await _page(f"{prefix}events", sorted(names), limit, cursor)
        return Page([names[name] for name in found], following)

    async def list_of_user(self, scope: UserScope, *, limit: int, cursor: str | None) -> Page[ListedEvent]:
        """List one user's events in name order. Raises InvalidCursor."""
        names = {key.blob_name: key for key in self._events if key.scope == scope}
        found, following = await _page(f"{scope.prefix}events/", sorted(names), limit, cursor)
        return Page([ListedEvent(names[name], self._since[names[name]]) for name in found], following)

    async def delete(self, key: EventKey, *, known_at: datetime | None = None) -> None:
        """Remove the event; dates are not looked at."""
        await asyncio.sleep(0)
        self._events.pop(key, None)
        self._since.pop(key, None)

    def names(self) -> Sequence[str]:
        """The names of all events."""
        return [key.blob_name for key in self._events]

    def holdings(self) -> Mapping[str, object]:
        """All events and marks, by name."""
        events = {key.blob_name: data for key, data in self._events.items()}
        return events | {_mark_blob(mark): mark for mark in self._marks.values()}

    def drop(self, name: str) -> None:
        """Take the event or the mark of this name out; a missing one is fine."""
        for key in [key for key in self._events if key.blob_name == name]:
            del self._events[key], self._since[key]
        for place in [place for place, mark in self._marks.items() if _mark_blob(mark) == name]:
            del self._marks[place]

    async def mark(self, key: EventKey, mark_id: str) -> None:
        """Note that the event has to be indexed. Raises ErasureRunning."""
        if self._fences is not None:
            await self._fences.check(key.scope)
        await asyncio.sleep(0)
        self._marks.setdefault(_mark(key, mark_id), Marked(key, mark_id, self._clock.now()))

    async def unmark(self, key: EventKey, mark_id: str) -> None:
        """Take the note away."""
        await asyncio.sleep(0)
        self._marks.pop(_mark(key, mark_id), None)

    async def list_marked(self, *, limit: int, cursor: str | None) -> Page[Marked]:
        """List the marks in name order. Raises InvalidCursor."""
        found, following = await _page("marks", sorted(self._marks), limit, cursor)
        return Page([self._marks[name] for name in found], following)

    async def list_marked_of_user(self, scope: UserScope, *, limit: int, cursor: str | None) -> Page[Marked]:
        """List one user's marks in name order. Raises InvalidCursor."""
        names = sorted(name for name, mark in self._marks.items() if mark.key.scope == scope)
        found, following = await _page(f"marks of {scope.prefix}", names, limit, cursor)
        return Page([self._marks[name] for name in found], following)


def _mark(key: EventKey, mark_id: str) -> str:
    return f"{key.blob_name}/{mark_id}"


def _mark_blob(mark: Marked) -> str:
    return f"{MARKS}{mark.key.scope.tenant_id}/{mark.key.scope.user_id}/{mark.key.event_id}/{mark.mark_id}"


async def _page(listing: str, names: list[str], limit: int, cursor: str | None) -> tuple[list[str], str | None]:
    after = "" if cursor is None else cursors.decode(listing, cursor)
    await asyncio.sleep(0)
    found = [name for name in names if name > after]
    return found[:limit], cursors.encode(listing, found[limit - 1]) if len(found) > limit else None
