"""UserStorage on Azure Blob Storage: whatever lies below the prefixes of a user."""

from datetime import datetime

from memnet.adapters.azure.blob_container import BlobContainer, tag_of
from memnet.adapters.azure.blob_copies import copy_of, kept_until
from memnet.domain import cursor as cursors
from memnet.domain.erasure import Found, Whose, is_of, prefixes_of
from memnet.domain.errors import InvalidCursor
from memnet.ports import Clock, Page


class BlobUserStorage:
    """The UserStorage port; errors as the port says."""

    def __init__(self, container: BlobContainer, clock: Clock) -> None:
        """Use the container of the documents."""
        self._container = container
        self._clock = clock

    async def list(self, scope: Whose, *, limit: int, cursor: str | None) -> Page[Found]:
        """List one prefix after the other. Raises InvalidCursor, Unavailable."""
        prefixes = prefixes_of(scope)
        number, inner = _read_cursor(scope, cursor, len(prefixes))
        blobs, following = await self._container.list(
            prefixes[number], limit=limit, cursor=inner, metadata=False, copies=True
        )
        # The keys lie below the user's prefix, too, and are listed once.
        now = self._clock.now()
        found = [Found(str(blob.name), tag_of(blob), copy_of(blob), kept_until(blob, now)) for blob in blobs]
        found = [one for one in found if is_of(scope, one.name) and not one.name.startswith(tuple(prefixes[:number]))]
        if following is None:
            number += 1
        if number == len(prefixes):
            return Page(found, None)
        return Page(found, cursors.encode(scope.prefix, f"{number}:{following or ''}"))

    async def delete(self, scope: Whose, found: Found, *, known_at: datetime) -> None:
        """Delete the blob and its snapshots, or the one copy of it. Raises StoreConflict, ValueError, Unavailable."""
        if not is_of(scope, found.name):
            raise ValueError("this is not the user's")
        if found.copy:
            await self._container.delete_copy(found.name, found.copy, known_at=known_at)
            return
        await self._container.delete(found.name, tag=found.tag, known_at=known_at)


def _read_cursor(scope: Whose, cursor: str | None, count: int) -> tuple[int, str | None]:
    """Which prefix to go on with, and where in it."""
    if cursor is None:
        return 0, None
    number, _, inner = cursors.decode(scope.prefix, cursor).partition(":")
    if not (number.isascii() and number.isdecimal() and int(number) < count):
        raise InvalidCursor()
    return int(number), inner or None
