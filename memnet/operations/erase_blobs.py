"""Remove every blob of a user, batch by batch, each written down before it goes."""

from collections.abc import Sequence

from memnet.domain.hold import HoldChange
from memnet.operations.find_holds import find_holds
from memnet.operations.open_erasure import ErasureJournal

PAGE = 1000
BATCH = 250
"""So many are removed between two looks at the holds."""


class Held(Exception):
    """A legal hold covers the user: nothing more is removed."""

    def __init__(self, holds: Sequence[HoldChange]) -> None:
        """Name those in force."""
        super().__init__()
        self.holds = holds


async def erase_blobs(*, journal: ErasureJournal) -> int:
    """Remove all there is until a whole listing finds nothing; return how much it was.

    Raises Held as soon as a legal hold covers the user, StoreConflict if another process has taken the erasure over,
    HistoryBroken if a hold cannot be read, Unavailable.
    """
    erasing, scope = journal.erasing, journal.erasure.scope
    await journal.finish_batch()
    cursor: str | None = None
    total = before = 0
    while True:
        page = await erasing.storage.list(scope, limit=PAGE, cursor=cursor)
        for start in range(0, len(page.items), BATCH):
            holds = await find_holds(scope, holds=erasing.holds)
            if holds:
                raise Held(holds)
            await journal.remove(page.items[start : start + BATCH])
        total, cursor = total + len(page.items), page.next_cursor
        if cursor is None:
            if total == before:
                return total
            before = total
