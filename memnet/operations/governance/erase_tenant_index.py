"""Take what is left of a tenant out of every index there is."""

from collections.abc import Collection

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.events.event import load
from memnet.operations.events.find_indexes import find_indexes
from memnet.ports import IndexMissing
from memnet.stores import Search

PAGE = 900


async def erase_tenant_index(tenant_id: str, held: Collection[UserScope], *, search: Search) -> int:
    """Delete the tenant's documents, except those of the users in `held`; return how many were found.

    Raises Unavailable if one could not be deleted: the same call again goes on.
    """
    found = 0
    for name in await find_indexes(search=search):
        after: str | None = None
        while True:
            try:
                hits = await search.index.list(name, tenant_id, limit=PAGE, after=after)
                events = {hit.key: load(hit.data) for hit in hits}
                keys = [key for key, event in events.items() if event is None or event.key.scope not in held]
                if keys and await search.index.delete(name, keys):
                    raise Unavailable(dependency="search")
            except IndexMissing:
                break
            found += len(keys)
            if len(hits) < PAGE:
                break
            after = hits[-1].key
    return found
