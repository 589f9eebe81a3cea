"""Index the events that are marked as not indexed yet."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from memnet.domain.core.errors import Unavailable
from memnet.domain.events.event import EventKey
from memnet.operations.events.index_events import index_events
from memnet.operations.events.read_events import read_events
from memnet.operations.events.unindex_events import unindex_events
from memnet.service import Service
from memnet.stores import Marked, Search

PAGE = 1000
FORGOTTEN = timedelta(hours=1)
"""After this time a mark without an event is that of a write that never came to be and was never acknowledged, or of an
event that was removed."""
log = logging.getLogger(__name__)


@dataclass(slots=True)
class ReconcileReport:
    """What a reconciliation saw: marks listed, events indexed, left for the next one, and marks without an event."""

    marked: int = 0
    indexed: int = 0
    postponed: int = 0
    dropped: int = 0


async def reconcile_events(service: Service) -> ReconcileReport:
    """Work off every mark; safe beside any number of writers and other reconciliations.

    Raises Unavailable if the marks cannot be listed or the storage fails.
    """
    report = ReconcileReport()
    cursor: str | None = None
    while True:
        page = await service.events.list_marked(limit=PAGE, cursor=cursor)
        report.marked += len(page.items)
        await _repair(page.items, report, service)
        cursor = page.next_cursor
        if cursor is None:
            return report


async def _repair(marks: Sequence[Marked], report: ReconcileReport, service: Service) -> None:
    found = await read_events(list(dict.fromkeys(mark.key for mark in marks)), events=service.events)
    for key in (key for key, event in found.items() if event is None):
        log.error("stored bytes are not what was written", extra={"event": key.blob_name})
    stored = [event for event in found.values() if event is not None]
    try:
        complete = await index_events(stored, service) if stored else frozenset()
    except Unavailable:
        complete = frozenset()
    oldest = service.clock.now() - FORGOTTEN
    lost = {mark.key for mark in marks if mark.key not in found and mark.since < oldest}
    forgotten = await _unindex(list(lost), service.search) if lost else frozenset()
    for mark in marks:
        if mark.key in complete or (mark.key in forgotten and mark.since < oldest):
            await service.events.unmark(mark.key, mark.mark_id)
            report.dropped += mark.key in forgotten
    report.indexed += len(complete)
    report.postponed += len(found) - len(complete) + len(lost) - len(forgotten)


async def _unindex(keys: Sequence[EventKey], search: Search) -> frozenset[EventKey]:
    """An event that was removed may have been indexed once more by somebody who had read it before."""
    try:
        return await unindex_events(keys, search=search)
    except Unavailable:
        return frozenset()
