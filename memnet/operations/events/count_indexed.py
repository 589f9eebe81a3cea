"""Count the documents of a user in the indexes."""

from memnet.domain.core.scope import UserScope
from memnet.operations.events.find_indexes import find_indexes
from memnet.ports import IndexMissing
from memnet.stores import Search

PAGE = 900


async def count_indexed(scope: UserScope, *, search: Search) -> int:
    """Return how many any index shows, each event once. Raises Unavailable."""
    shown: set[str] = set()
    for name in await find_indexes(search=search):
        after: str | None = None
        try:
            while keys := await search.index.list_of_user(name, scope, limit=PAGE, after=after):
                shown.update(keys)
                after = keys[-1]
        except IndexMissing:
            continue
    return len(shown)
