"""Name every index that may hold documents of events."""

from collections.abc import Sequence

from memnet.domain.events.index_layout import LAYOUT, REBUILD, load_layout, load_reindexing
from memnet.stores import Search


async def find_indexes(*, search: Search) -> Sequence[str]:
    """Return the serving one, the one being built, and what a rebuild has yet to drop; some may not be there any more.

    As the records stand now, not as this process remembers them. Raises Unavailable.
    """
    # In this order: whatever a rebuild does in between, its record names the index that it made and those it replaced.
    layout = await search.register.read(LAYOUT)
    rebuild = await search.register.read(REBUILD)
    named = [] if layout is None else [version.name for version in load_layout(layout.data).versions]
    named += [] if rebuild is None else load_reindexing(rebuild.data).names
    return list(dict.fromkeys(named))
