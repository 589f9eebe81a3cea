"""The base of stores whose marks name what may be missing from the index: one empty blob a mark."""

from contextlib import suppress
from datetime import datetime
from typing import TypedDict

from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.scope import StorageETag
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.events.index_mark import IndexMark
from memnet.ports import ListedBlob, StoreConflict
from memnet.stores.blobs import Store

CONFIRMED_AT = "confirmed_at"
"""The metadata with the time of the index's confirmation."""
DELETED_AT = "deleted_at"
"""The metadata with the time at which what was marked was deleted."""


class IndexMarks(Store):
    """Marks exist before what they mark, and go when the index has shown it for some time.

    A search reads what is marked from the storage, so that it finds everything acknowledged.
    """

    async def confirm(self, mark: IndexMark) -> None:
        """Record that the index has confirmed what is marked; a mark that was written since is left alone.

        It creates nothing, so it needs no check of the fence. Raises Unavailable.
        """
        metadata = {CONFIRMED_AT: to_text(self._blobs.clock.now())}
        with suppress(StoreConflict):
            await self._blobs.storage.put(mark.name, b"", replaces=mark.tag, metadata=metadata)

    async def remove(self, mark: IndexMark) -> None:
        """Delete a listed mark, unless it was written since. Raises Unavailable."""
        with suppress(StoreConflict):
            await self._blobs.storage.delete(mark.name, tag=mark.tag)


class MarkMembers(TypedDict):
    """The members of an IndexMark."""

    name: str
    since: datetime
    tag: StorageETag
    confirmed_at: datetime | None
    deleted_at: datetime | None


def mark_members(blob: ListedBlob) -> MarkMembers:
    """Return what a listed blob says about its mark."""
    return {
        "name": blob.name,
        "since": blob.last_modified,
        "tag": blob.etag,
        "confirmed_at": _time(blob, CONFIRMED_AT),
        "deleted_at": _time(blob, DELETED_AT),
    }


def _time(blob: ListedBlob, name: str) -> datetime | None:
    text = blob.metadata.get(name)
    try:
        return None if text is None else from_text(text)
    except MalformedRequest:
        return None
