"""The events: one blob each below events/, and an empty blob for each pending-index marker."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from memnet.domain.core.errors import InvalidIdentifier
from memnet.domain.core.scope import UserScope, check_identifier
from memnet.domain.core.timestamps import to_text
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.events.event import PENDING_MARKERS, EventKey, StoredEvent, load
from memnet.domain.events.index_mark import IndexMark
from memnet.paging import bounded
from memnet.ports import ListedBlob, Page, StoreConflict
from memnet.stores.blobs import FenceCheck
from memnet.stores.index_marks import DELETED_AT, IndexMarks, mark_members
from memnet.stores.newest import Dated, newest
from memnet.stores.user_items import item_of

TIMESTAMP = "timestamp"
"""The metadata with the event's own time."""
DELETED_MARK = "deleted"
"""The id of the marker that says that an event was deleted; every write of an event has a random one."""


@dataclass(frozen=True, slots=True)
class Marked(IndexMark):
    """A pending-index marker of an event."""

    key: EventKey


@dataclass(frozen=True, slots=True)
class ListedEvent:
    """A stored event, and when it was created."""

    key: EventKey
    since: datetime


class EventStore(IndexMarks):
    """The events, created once and never changed, and their pending-index markers."""

    async def create(
        self, key: EventKey, data: bytes, *, timestamp: str | None = None, checked: FenceCheck | None = None
    ) -> None:
        """Create the event, which relies on `checked`, or else checks the fence.

        `timestamp` is the event's own time, by which `list_newest` orders; without it the time of storage counts.
        Raises StoreConflict if it exists, ErasureRunning, TenantEnded, and Unavailable when the outcome is unknown.
        """
        metadata = {} if timestamp is None else {TIMESTAMP: timestamp}
        await self._blobs.put_of(key.scope, key.blob_name, data, replaces=None, metadata=metadata, checked=checked)

    async def get(self, key: EventKey) -> bytes | None:
        """Return one event, or None if it does not exist. Raises Unavailable."""
        return await self._blobs.data(key.blob_name)

    async def list(self, tenant_id: str | None, *, limit: int, cursor: str | None) -> Page[EventKey]:
        """List the events of one tenant, or of all, in name order.

        Pages over the other blobs are short or empty: in the layout the user comes before the kind. Raises
        InvalidCursor, Unavailable.
        """
        prefix = "tenants/" if tenant_id is None else f"tenants/{tenant_id}/"
        return await self._blobs.rows(prefix, lambda blob: _key(blob.name), limit=limit, cursor=cursor)

    async def list_indexable(
        self, tenant_id: str | None, *, limit: int, cursor: str | None
    ) -> Page[EventKey | ItemKey]:
        """List the events and the snapshots of one tenant, or of all, as `list` does."""
        prefix = "tenants/" if tenant_id is None else f"tenants/{tenant_id}/"
        return await self._blobs.rows(prefix, _indexable, limit=limit, cursor=cursor)

    async def list_of_user(
        self, scope: UserScope, *, limit: int, cursor: str | None, begins: str = ""
    ) -> Page[ListedEvent]:
        """List the events of one user whose ids begin so, in name order. Raises InvalidCursor, Unavailable."""
        return await self._blobs.rows(f"{scope.prefix}events/{begins}", _listed, limit=limit, cursor=cursor)

    async def list_newest(self, scope: UserScope, *, limit: int, cursor: str | None) -> Page[EventKey]:
        """List the events of one user, newest first, by their own time; one storage call for 5,000 events of the user.

        Raises InvalidCursor, Unavailable.
        """
        prefix = f"{scope.prefix}events/"
        page = await newest(self._dated(prefix), f"{prefix} newest", limit=limit, cursor=cursor)
        return Page([EventKey(scope, event_id) for _, event_id in page.items], page.next_cursor)

    async def _dated(self, prefix: str) -> AsyncIterator[Dated]:
        async for blob in self._blobs.each(prefix, metadata=True):
            key = _key(blob.name)
            if key is not None:
                yield blob.metadata.get(TIMESTAMP) or to_text(blob.last_modified), key.event_id

    async def delete(self, key: EventKey, *, known_at: datetime | None = None) -> None:
        """Delete the event, not its markers, as `BlobStorage.delete` does. Raises Unavailable."""
        await self._blobs.storage.delete(key.blob_name, known_at=known_at)

    async def mark(self, key: EventKey, mark_id: str, *, checked: FenceCheck | None = None) -> Marked | None:
        """Create a pending-index marker and return it; None: it exists, and is kept.

        Each write of an event has its own marker, so one write does not confirm the marker of another. `checked` is as
        in `create`. Raises ErasureRunning, TenantEnded, Unavailable.
        """
        name, since = _mark(key, mark_id), self._blobs.clock.now()
        try:
            tag = await self._blobs.put_of(key.scope, name, b"", replaces=None, checked=checked, announced=False)
        except StoreConflict:
            return None
        return Marked(key, name=name, since=since, tag=tag)

    async def mark_deleted(self, key: EventKey) -> None:
        """Create the marker that says the event was deleted. Raises ErasureRunning, TenantEnded, Unavailable."""
        metadata = {DELETED_AT: to_text(self._blobs.clock.now())}
        name = _mark(key, DELETED_MARK)
        with suppress(StoreConflict):
            await self._blobs.put_of(key.scope, name, b"", replaces=None, metadata=metadata, announced=False)

    async def unmark_deleted(self, key: EventKey) -> None:
        """Delete that marker; deleting a missing one succeeds. Raises Unavailable."""
        await self._blobs.storage.delete(_mark(key, DELETED_MARK))

    async def list_marked(self, *, limit: int, cursor: str | None) -> Page[Marked]:
        """List the markers of all tenants in name order. Raises InvalidCursor, Unavailable."""
        return await self._blobs.rows(PENDING_MARKERS, _marked, limit=limit, cursor=cursor, metadata=True)

    async def list_marked_of_user(self, scope: UserScope, *, limit: int, cursor: str | None) -> Page[Marked]:
        """List the markers of one user's events in name order. Raises InvalidCursor, Unavailable."""
        prefix = f"{PENDING_MARKERS}{scope.tenant_id}/{scope.user_id}/"
        return await self._blobs.rows(prefix, _marked, limit=limit, cursor=cursor, metadata=True)


async def read_events(keys: Sequence[EventKey], *, events: EventStore) -> dict[EventKey, StoredEvent | None]:
    """Return the stored events of these keys; None for bytes that are not the event. Missing ones are left out.

    Raises Unavailable.
    """
    found = zip(keys, await bounded(events.get, keys), strict=True)
    return {key: _loaded(key, data) for key, data in found if data is not None}


def _loaded(key: EventKey, data: bytes) -> StoredEvent | None:
    stored = load(data)
    return stored if stored is not None and stored.key == key else None


def _mark(key: EventKey, mark_id: str) -> str:
    check_identifier("mark_id", mark_id)
    return f"{PENDING_MARKERS}{key.scope.tenant_id}/{key.scope.user_id}/{key.event_id}/{mark_id}"


def _key(name: str) -> EventKey | None:
    """The event of a blob; None for a blob that is not an event of ours."""
    match name.split("/"):
        case ["tenants", tenant_id, "users", user_id, "events", file] if file.endswith(".json"):
            return _checked(tenant_id, user_id, file.removesuffix(".json"))
    return None


def _indexable(blob: ListedBlob) -> EventKey | ItemKey | None:
    return _key(blob.name) or item_of(blob.name, ItemKind.SNAPSHOTS)


def _listed(blob: ListedBlob) -> ListedEvent | None:
    key = _key(blob.name)
    return None if key is None else ListedEvent(key, blob.last_modified)


def _marked(blob: ListedBlob) -> Marked | None:
    match blob.name.removeprefix(PENDING_MARKERS).split("/"):
        case [tenant_id, user_id, event_id, _]:
            key = _checked(tenant_id, user_id, event_id)
            return None if key is None else Marked(key, **mark_members(blob))
    return None


def _checked(tenant_id: str, user_id: str, event_id: str) -> EventKey | None:
    try:
        return EventKey(UserScope(tenant_id, user_id), event_id)
    except InvalidIdentifier:
        return None
