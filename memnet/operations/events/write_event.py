"""Store an event and make it searchable."""

import asyncio
import logging

from memnet.domain.core.errors import EventExists, Unavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.documents import sensitive
from memnet.domain.events.event import Event, StoredEvent, WrittenEvent, place
from memnet.ports import StoreConflict
from memnet.service import Service
from memnet.stores import EventStore, index_events

INDEXING_SECONDS = 2.0
"""How long a response waits for the index; a slower one is left to the reconciliation."""
log = logging.getLogger(__name__)


async def write_event(
    scope: UserScope,
    event: Event,
    service: Service,
    *,
    is_live: bool = False,
    index: bool = True,
    patience: float = INDEXING_SECONDS,
) -> WrittenEvent:
    """Create the event's blob and a pending-index marker, then try to index the event for `patience` seconds.

    With `index` False the event waits for the reconciliation. The content of a live event is checked; the events of
    replays, upkeep and archives were checked before. Writing the same event again succeeds and indexes it again.

    Raises:
        EventExists: Another event is stored under its id.
        FieldDenied: The content is sensitive.
        MalformedRequest: The event names another tenant or user.
        InvalidIdentifier, Unavailable.
    """
    if is_live:
        sensitive.check_event(event)
    stored, mark_id = place(event, scope), service.ids.new()
    created, marked = await asyncio.gather(
        _create(stored, service.events), service.events.mark(stored.key, mark_id), return_exceptions=True
    )
    for outcome in (created, marked):
        if isinstance(outcome, BaseException):
            raise outcome
    indexed = index and await _index(stored, patience, service)
    if indexed:
        service.background.start("unmark event", service.events.unmark(stored.key, mark_id))
    return WrittenEvent(stored.key.event_id, replayed=created is False, indexed=indexed)


async def _create(stored: StoredEvent, events: EventStore) -> bool:
    """Create the event; return False if it is stored already. Raises EventExists, Unavailable."""
    try:
        await events.create(stored.key, stored.data)
    except StoreConflict:
        found = await events.get(stored.key)
        if found is None:
            raise Unavailable(dependency="blob_storage") from None
        if found != stored.data:
            # The marker remains; the reconciliation indexes the event that is stored.
            raise EventExists(event_id=stored.key.event_id) from None
        return False
    return True


async def _index(stored: StoredEvent, patience: float, service: Service) -> bool:
    """Index the event. No failure here fails the write: the event is stored and has its marker."""
    try:
        async with asyncio.timeout(patience):
            return stored.key in await index_events([stored], search=service.search, ids=service.ids)
    except (Unavailable, TimeoutError, StoreConflict):
        return False
    except Exception:
        log.exception("an event could not be indexed")
        return False
