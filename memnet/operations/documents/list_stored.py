"""List all that the stores hold of a user in blobs."""

from collections.abc import Sequence

from memnet.domain.core.scope import UserScope
from memnet.domain.governance.erasure import Found
from memnet.stores import UserStorage

PAGE = 1000


async def list_stored(scope: UserScope, *, storage: UserStorage) -> Sequence[Found]:
    """Return it, the user's keys first. Raises Unavailable."""
    found: list[Found] = []
    cursor: str | None = None
    while True:
        page = await storage.list(scope, limit=PAGE, cursor=cursor)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found
