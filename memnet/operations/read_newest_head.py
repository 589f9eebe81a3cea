"""Read the newest head of a user."""

from memnet.domain.document import UserScope
from memnet.domain.errors import HistoryBroken
from memnet.domain.head import Head, head_key, read_head
from memnet.domain.record import RecordKey, RecordKind
from memnet.stores import RecordStore

PAGE = 5000


async def read_newest_head(scope: UserScope, *, records: RecordStore) -> Head | None:
    """Return it, its signature unchecked; None if nothing was ever signed.

    Raises HistoryBroken if what lies there is no head of this user's, Unavailable.
    """
    newest: RecordKey | None = None
    cursor: str | None = None
    while True:
        page = await records.list(scope, RecordKind.HEADS, limit=PAGE, cursor=cursor)
        newest = page.items[-1] if page.items else newest
        cursor = page.next_cursor
        if cursor is None:
            break
    if newest is None:
        return None
    stored = await records.read(newest)
    head = read_head(stored.data) if stored else None
    if head is None or head_key(head.scope, head.sequence) != newest:
        raise HistoryBroken("The newest head cannot be read; run memnet audit verify.", head=newest.name)
    return head
