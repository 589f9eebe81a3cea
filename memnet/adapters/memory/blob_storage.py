"""BlobStorage in a dict. Every call yields to the event loop first, so that races show."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memnet.domain.core import cursor as cursors
from memnet.domain.core.scope import StorageETag
from memnet.ports import (
    Clock,
    ListedBlob,
    Page,
    StoreConflict,
    StoredBlob,
)


@dataclass(frozen=True, slots=True)
class _Blob:
    stored: StoredBlob
    metadata: Mapping[str, str]
    last_modified: datetime


class MemoryBlobStorage:
    """The BlobStorage port for tests: never unavailable, without copies, and requests have no date."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._blobs: dict[str, _Blob] = {}
        self._writes = 0

    async def get(self, name: str, known: StoredBlob | None = None) -> StoredBlob | None:
        await asyncio.sleep(0)
        found = self._blobs.get(name)
        if found is not None and known is not None and found.stored.storage_etag == known.storage_etag:
            return known
        return None if found is None else found.stored

    async def put(
        self,
        name: str,
        data: bytes,
        *,
        replaces: StorageETag | None,
        metadata: Mapping[str, str] | None = None,
        known_at: datetime | None = None,
    ) -> StorageETag:
        await asyncio.sleep(0)
        found = self._blobs.get(name)
        if (found.stored.storage_etag if found else None) != replaces:
            raise StoreConflict
        return self.overwrite(name, data, metadata or {})

    async def create_log(
        self, name: str, *, metadata: Mapping[str, str] | None = None, known_at: datetime | None = None
    ) -> None:
        await asyncio.sleep(0)
        if name in self._blobs:
            raise StoreConflict
        self.overwrite(name, b"", metadata or {})

    async def append(self, name: str, data: bytes, *, offset: int, known_at: datetime | None = None) -> bool:
        await asyncio.sleep(0)
        found = self._blobs.get(name)
        if found is None:
            return False
        if len(found.stored.data) != offset:
            raise StoreConflict
        self.overwrite(name, found.stored.data + data)
        return True

    async def delete(
        self, name: str, *, tag: StorageETag | None = None, copy: str = "", known_at: datetime | None = None
    ) -> None:
        await asyncio.sleep(0)
        found = self._blobs.get(name)
        if found is None or copy:
            return
        if tag not in (None, found.stored.storage_etag):
            raise StoreConflict
        del self._blobs[name]

    async def list(
        self, prefix: str, *, limit: int, cursor: str | None, metadata: bool = False, copies: bool = False
    ) -> Page[ListedBlob]:
        await asyncio.sleep(0)
        page = _page(prefix, self.names(prefix), limit, cursor)
        found = [(name, self._blobs[name]) for name in page.items]
        rows = [
            ListedBlob(name, blob.stored.storage_etag, blob.last_modified, blob.metadata if metadata else {})
            for name, blob in found
        ]
        return Page(rows, page.next_cursor)

    async def list_folders(self, prefix: str, *, limit: int, cursor: str | None) -> Page[str]:
        await asyncio.sleep(0)
        below = (name.removeprefix(prefix).partition("/") for name in self.names(prefix))
        folders = {f"{prefix}{folder}/" for folder, slash, _ in below if slash}
        return _page(f"{prefix}*/", sorted(folders), limit, cursor)

    async def ping(self) -> None:
        await asyncio.sleep(0)

    def names(self, prefix: str = "") -> Sequence[str]:
        """Return the names of the blobs whose names start with `prefix`, in order."""
        return sorted(name for name in self._blobs if name.startswith(prefix))

    def data(self, name: str) -> bytes:
        """Return the bytes of a blob. Raises KeyError if it does not exist."""
        return self._blobs[name].stored.data

    def overwrite(self, name: str, data: bytes, metadata: Mapping[str, str] | None = None) -> StorageETag:
        """Write a blob unconditionally, with the metadata it has unless others are given; return the new tag."""
        if metadata is None:
            metadata = self._blobs[name].metadata if name in self._blobs else {}
        self._writes += 1
        tag = StorageETag(f'"{self._writes}"')
        self._blobs[name] = _Blob(StoredBlob(data, tag), metadata, self._clock.now())
        return tag

    def drop(self, name: str) -> None:
        """Delete a blob unconditionally; deleting a missing one succeeds."""
        self._blobs.pop(name, None)


def _page(listing: str, names: Sequence[str], limit: int, cursor: str | None) -> Page[str]:
    after = "" if cursor is None else cursors.decode(listing, cursor)
    found = [name for name in names if name > after]
    return Page(found[:limit], cursors.encode(listing, found[limit - 1]) if len(found) > limit else None)
