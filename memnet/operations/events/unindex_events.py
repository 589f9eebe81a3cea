"""Take events out of every index there is."""

from collections.abc import Sequence

from memnet.domain.events.event import EventKey
from memnet.ports import IndexMissing
from memnet.stores import Search


async def unindex_events(keys: Sequence[EventKey], *, search: Search) -> frozenset[EventKey]:
    """Delete their documents; return the events that no index holds any more. Raises Unavailable.

    Whoever has read an event before it was removed may still index it afterwards: the mark of an event that is not
    stored has the reconciliation take it out once more.
    """
    layout = await search.register.recent()
    left: set[str] = set()
    for version in layout.versions if layout else ():
        try:
            left |= await search.index.delete(version.name, [key.index_key for key in keys])
        except IndexMissing:
            continue
    return frozenset(key for key in keys if key.index_key not in left)
