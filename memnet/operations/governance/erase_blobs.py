"""Remove every blob of a user, batch by batch, each written down before it goes."""

from memnet.domain.governance.erasure import Found
from memnet.operations.governance.resume_erasure import ErasureJournal

PAGE = 1000
BATCH = 250
"""The journal names at most so many at once."""


async def erase_blobs(*, journal: ErasureJournal) -> int:
    """Remove all there is until a whole listing finds nothing that can be removed; return how much it was.

    Blobs go first, then what the storage has kept of them: versions and snapshots. What is soft-deleted cannot be
    removed before its time; `journal.kept` names it.

    Raises StoreConflict if another process has taken the erasure over, Unavailable.
    """
    service, scope = journal.service, journal.erasure.scope
    await journal.finish_batch()
    total, copies_too = 0, False
    while True:
        kept: list[Found] = []
        removed = left = 0
        cursor: str | None = None
        while True:
            page = await service.user_storage.list(scope, limit=PAGE, cursor=cursor)
            kept += [one for one in page.items if one.kept_until is not None]
            there = [one for one in page.items if one.kept_until is None]
            wanted = [one for one in there if copies_too or not one.copy]
            for start in range(0, len(wanted), BATCH):
                await journal.remove(wanted[start : start + BATCH])
            removed, left, cursor = removed + len(wanted), left + len(there) - len(wanted), page.next_cursor
            if cursor is None:
                break
        total += removed
        if not removed and not left:
            journal.kept = kept
            return total
        # Removing a version takes a right of its own: without it, what is current is gone all the same.
        copies_too = True
