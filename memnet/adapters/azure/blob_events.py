"""EventStore on Azure Blob Storage: one blob per event, and an empty blob for each that waits for the index."""

from datetime import datetime

from azure.storage.blob import BlobProperties

from memnet.adapters.azure.blob_container import BlobContainer
from memnet.domain.document import UserScope
from memnet.domain.errors import InvalidIdentifier
from memnet.domain.event import MARKS, EventKey
from memnet.domain.identifiers import check_identifier
from memnet.ports import ListedEvent, Marked, Page, StoreConflict


class BlobEventStore:
    """The EventStore port; errors as the port says."""

    def __init__(self, container: BlobContainer) -> None:
        """Use the container of the documents."""
        self._container = container

    async def create(self, key: EventKey, data: bytes) -> None:
        """Create the event. Raises StoreConflict, ErasureRunning, Unavailable."""
        await self._container.write(key.blob_name, data, replaces=None, metadata={}, of=key.scope)

    async def get(self, key: EventKey) -> bytes | None:
        """Read one event. Raises Unavailable."""
        stored = await self._container.read(key.blob_name)
        return None if stored is None else stored.data

    async def list(self, tenant_id: str | None, *, limit: int, cursor: str | None) -> Page[EventKey]:
        """List events in name order; pages over the other blobs are short or empty. Raises InvalidCursor, Unavailable.

        Blob Storage lists by prefix alone, and in the layout the user comes before the kind.
        """
        prefix = "tenants/" if tenant_id is None else f"tenants/{tenant_id}/"
        blobs, following = await self._container.list(prefix, limit=limit, cursor=cursor, metadata=False)
        found = [_key(str(blob.name)) for blob in blobs]
        return Page([key for key in found if key is not None], following)

    async def list_of_user(self, scope: UserScope, *, limit: int, cursor: str | None) -> Page[ListedEvent]:
        """List one user's events in name order. Raises InvalidCursor, Unavailable."""
        blobs, following = await self._container.list(
            f"{scope.prefix}events/", limit=limit, cursor=cursor, metadata=False
        )
        found = [_listed(blob) for blob in blobs]
        return Page([listed for listed in found if listed is not None], following)

    async def delete(self, key: EventKey, *, known_at: datetime | None = None) -> None:
        """Remove the event. Raises Unavailable."""
        await self._container.delete(key.blob_name, known_at=known_at)

    async def mark(self, key: EventKey, mark_id: str) -> None:
        """Create the mark. Raises ErasureRunning, Unavailable."""
        try:
            await self._container.write(_mark(key, mark_id), b"", replaces=None, metadata={}, of=key.scope)
        except StoreConflict:
            return

    async def unmark(self, key: EventKey, mark_id: str) -> None:
        """Delete the mark. Raises Unavailable."""
        await self._container.delete(_mark(key, mark_id))

    async def list_marked(self, *, limit: int, cursor: str | None) -> Page[Marked]:
        """List the marks in name order. Raises InvalidCursor, Unavailable."""
        return await self._list_marked(MARKS, limit, cursor)

    async def list_marked_of_user(self, scope: UserScope, *, limit: int, cursor: str | None) -> Page[Marked]:
        """List one user's marks in name order. Raises InvalidCursor, Unavailable."""
        return await self._list_marked(f"{MARKS}{scope.tenant_id}/{scope.user_id}/", limit, cursor)

    async def _list_marked(self, prefix: str, limit: int, cursor: str | None) -> Page[Marked]:
        blobs, following = await self._container.list(prefix, limit=limit, cursor=cursor, metadata=False)
        found = [_marked(blob) for blob in blobs]
        return Page([marked for marked in found if marked is not None], following)


def _mark(key: EventKey, mark_id: str) -> str:
    return f"{MARKS}{key.scope.tenant_id}/{key.scope.user_id}/{key.event_id}/{check_identifier('mark_id', mark_id)}"


def _key(name: str) -> EventKey | None:
    """The event of a blob; None for a blob that is not an event of ours."""
    match name.split("/"):
        case ["tenants", tenant_id, "users", user_id, "events", file] if file.endswith(".json"):
            return _checked(tenant_id, user_id, file.removesuffix(".json"))
    return None


def _listed(blob: BlobProperties) -> ListedEvent | None:
    key = _key(str(blob.name))
    return None if key is None or blob.last_modified is None else ListedEvent(key, blob.last_modified)


def _marked(blob: BlobProperties) -> Marked | None:
    match str(blob.name).removeprefix(MARKS).split("/"):
        case [tenant_id, user_id, event_id, mark_id]:
            key = _checked(tenant_id, user_id, event_id)
            return None if key is None or blob.last_modified is None else Marked(key, mark_id, blob.last_modified)
    return None


def _checked(tenant_id: str, user_id: str, event_id: str) -> EventKey | None:
    try:
        return EventKey(UserScope(tenant_id, user_id), event_id)
    except InvalidIdentifier:
        return None
