"""The marks of snapshots whose messages may be missing from the index: one empty blob a snapshot."""

from contextlib import suppress

from memnet.domain.core.scope import UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.core.user_item import ItemKey
from memnet.domain.replay.turn_mark import TURN_MARKS, TurnMark, turn_mark_name, turn_marked, turn_marks_of
from memnet.ports import ListedBlob, Page, StoreConflict
from memnet.stores.blobs import Blobs, FenceCheck
from memnet.stores.index_marks import DELETED_AT, IndexMarks, mark_members
from memnet.stores.turn_cache import TurnCache

PAGE = 1000


class TurnMarks(IndexMarks):
    """The marks of snapshots that are searchable as turns."""

    def __init__(self, blobs: Blobs) -> None:
        super().__init__(blobs)
        self.cache = TurnCache()
        """What this process has read of marked snapshots."""

    async def mark(self, key: ItemKey, *, checked: FenceCheck | None = None) -> None:
        """Create the mark of a snapshot if it does not exist; it relies on `checked`, or else checks the fence.

        Raises ErasureRunning, TenantEnded, Unavailable.
        """
        name = turn_mark_name(key)
        try:
            await self._blobs.put_of(key.scope, name, b"", replaces=None, checked=checked, announced=False)
        except StoreConflict:
            return

    async def unmark(self, key: ItemKey) -> None:
        """Delete the mark; deleting a missing one succeeds. Raises Unavailable."""
        await self._blobs.storage.delete(turn_mark_name(key))

    async def renew(self, key: ItemKey) -> None:
        """Mark a snapshot whose messages the index must get again. Raises ErasureRunning, TenantEnded, Unavailable."""
        await self.unmark(key)
        await self.mark(key)

    async def mark_deleted(self, key: ItemKey) -> None:
        """Mark a snapshot as deleted. Raises ErasureRunning, TenantEnded, Unavailable."""
        await self.unmark(key)
        metadata = {DELETED_AT: to_text(self._blobs.clock.now())}
        name = turn_mark_name(key)
        with suppress(StoreConflict):
            await self._blobs.put_of(key.scope, name, b"", replaces=None, metadata=metadata, announced=False)

    async def is_marked(self, key: ItemKey) -> bool:
        """Return whether the snapshot has a mark. Raises Unavailable."""
        return await self._blobs.storage.get(turn_mark_name(key)) is not None

    async def list_of(self, scope: UserScope, *, limit: int = PAGE, cursor: str | None = None) -> Page[TurnMark]:
        """List a user's marks in name order. Raises InvalidCursor, Unavailable."""
        return await self._blobs.rows(turn_marks_of(scope), _marked, limit=limit, cursor=cursor, metadata=True)

    async def list(self, *, limit: int, cursor: str | None) -> Page[TurnMark]:
        """List the marks of all tenants in name order. Raises InvalidCursor, Unavailable."""
        return await self._blobs.rows(TURN_MARKS, _marked, limit=limit, cursor=cursor, metadata=True)


def _marked(blob: ListedBlob) -> TurnMark | None:
    """Return the mark of a blob; None if its name is not a mark's."""
    key = turn_marked(blob.name)
    return None if key is None else TurnMark(key, **mark_members(blob))
