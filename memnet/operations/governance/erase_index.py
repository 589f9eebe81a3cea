"""Take every document of a user out of every index there is."""

import asyncio

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.scope import UserScope
from memnet.operations.events.find_indexes import find_indexes
from memnet.ports import IndexMissing
from memnet.stores import Search

PAGE = 900
LOOKS = 10
"""So often it is looked whether a removal shows yet, before that is left to another time."""
PAUSE_SECONDS = 0.2


async def erase_index(scope: UserScope, *, search: Search) -> int:
    """Delete until no index shows a document of the user any more; return how many there were, each event once.

    What cannot be removed, or is still shown after a while, raises Unavailable: the same call again goes on.
    """
    removed: set[str] = set()
    for name in await find_indexes(search=search):
        try:
            await _erase(scope, name, removed, search)
        except IndexMissing:
            continue
    return len(removed)


async def _erase(scope: UserScope, name: str, removed: set[str], search: Search) -> None:
    """Add to `removed` what was removed."""
    deleted: set[str] = set()
    looks = 0
    while found := await search.index.list_of_user(name, scope, limit=PAGE, after=None):
        if deleted.issuperset(found):
            # Deleted, and shown all the same: the index is eventually consistent.
            looks += 1
            if looks == LOOKS:
                raise Unavailable(dependency="search")
            await asyncio.sleep(PAUSE_SECONDS)
            continue
        if await search.index.delete(name, found):
            raise Unavailable(dependency="search")
        deleted.update(found)
        removed.update(found)
        looks = 0
