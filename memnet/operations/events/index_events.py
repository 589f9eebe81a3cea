"""Put events into every index there is, so that none misses them, also while a new one is being built."""

from collections.abc import Sequence

from memnet.domain.events.event import EventKey, StoredEvent
from memnet.operations.events.ensure_index import ensure_index
from memnet.operations.events.upload_events import upload_events
from memnet.service import Service


async def index_events(stored: Sequence[StoredEvent], service: Service) -> frozenset[EventKey]:
    """Upload stored events; return those whose mark may go. Raises Unavailable.

    The layout is looked at again afterwards. If it names an index that nothing was uploaded to, no mark may go. If
    not, then whoever announces an index from now on lists the stored events later than this process can still work by
    what it knows, and so finds these among them. `rebuild_index` waits for that.
    """
    layout = await ensure_index(service)
    complete = await upload_events(stored, layout.versions, search=service.search)
    now = await service.search.register.recent()
    return complete if now is not None and set(now.versions) <= set(layout.versions) else frozenset()
