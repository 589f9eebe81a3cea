"""Reconcile the index with the stored events: index what is pending, and compare the two."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from memnet.domain.core.canonical_json import sha256_hex
from memnet.domain.core.errors import SearchUnavailable, Unavailable
from memnet.domain.events.event import EventKey
from memnet.paging import bounded, pages
from memnet.ports import IndexMissing
from memnet.service import Service
from memnet.stores import Marked, Search, index_events, read_events, unindex_events

DOCUMENTS = 500
MARKER_LIFETIME = timedelta(hours=1)
"""A marker without an event that is older belongs to a write that failed unacknowledged, or to a deleted event."""
log = logging.getLogger(__name__)


@dataclass(slots=True)
class ReconcileReport:
    """Markers that wait, events indexed, events left for the next run, and markers without an event."""

    marked: int = 0
    indexed: int = 0
    postponed: int = 0
    dropped: int = 0


async def reconcile_events(service: Service) -> ReconcileReport:
    """Index every event whose pending-index marker waits, and delete the markers of what the index shows.

    Writers and other reconciliations may run at the same time.

    Raises Unavailable: the markers cannot be listed, or the storage fails.
    """
    report = ReconcileReport()
    async for markers in pages(service.events.list_marked):
        now = service.clock.now()
        await bounded(service.events.remove, [mark for mark in markers if mark.is_settled(now)])
        waiting = [mark for mark in markers if mark.confirmed_at is None and not _is_kept(mark, now)]
        report.marked += len(waiting)
        await _repair(waiting, report, service)
    return report


def _is_kept(mark: Marked, now: datetime) -> bool:
    """Return whether the marker of a deleted event stays, because the index may still show the event."""
    return mark.deleted_at is not None and mark.since >= now - MARKER_LIFETIME


async def _repair(marks: Sequence[Marked], report: ReconcileReport, service: Service) -> None:
    found = await read_events(list(dict.fromkeys(mark.key for mark in marks)), events=service.events)
    for key in (key for key, event in found.items() if event is None):
        log.error("a stored event cannot be read", extra={"event": key.blob_name})
    stored = [event for event in found.values() if event is not None]
    try:
        complete = await index_events(stored, search=service.search, ids=service.ids) if stored else frozenset()
    except Unavailable:
        complete = frozenset()
    oldest = service.clock.now() - MARKER_LIFETIME
    lost = {mark.key for mark in marks if mark.key not in found and mark.since < oldest}
    try:
        # A process that read a deleted event before its deletion may have indexed it again.
        forgotten = await unindex_events(list(lost), search=service.search) if lost else frozenset()
    except Unavailable:
        forgotten = frozenset()
    await bounded(service.events.confirm, [mark for mark in marks if mark.key in complete])
    useless = [mark for mark in marks if mark.key in forgotten and mark.since < oldest]
    await bounded(service.events.remove, useless)
    report.dropped += len(useless)
    report.indexed += len(complete)
    report.postponed += len(found) - len(complete) + len(lost) - len(forgotten)


@dataclass(slots=True)
class SearchReport:
    """The differences between the index and the stored events. `orphaned` holds index keys, the others events."""

    events: int = 0
    documents: int = 0
    missing: list[EventKey] = field(default_factory=list)
    """Stored, but not in the index."""
    different: list[EventKey] = field(default_factory=list)
    """In the index with content that differs from the stored event."""
    unreadable: list[EventKey] = field(default_factory=list)
    """Stored with bytes that the service did not write."""
    orphaned: list[str] = field(default_factory=list)
    """In the index without a stored event."""

    @property
    def agrees(self) -> bool:
        """Whether the index holds exactly the stored events."""
        return not (self.missing or self.different or self.unreadable or self.orphaned)


async def verify_search(tenant_id: str | None, service: Service) -> SearchReport:
    """Compare every stored event with every index document, of one tenant or of all.

    Writes that happen meanwhile may show as differences. Raises Unavailable; SearchUnavailable: there is no index.
    """
    indexed = await _indexed(tenant_id, service.search)
    report = SearchReport(documents=len(indexed))
    async for page in pages(partial(service.events.list, tenant_id)):
        for key, stored in (await read_events(page, events=service.events)).items():
            report.events += 1
            found = indexed.pop(key.index_key, None)
            if stored is None:
                report.unreadable.append(key)
            elif found is None:
                report.missing.append(key)
            elif found != sha256_hex(stored.data):
                report.different.append(key)
    report.orphaned = sorted(indexed)
    return report


async def _indexed(tenant_id: str | None, search: Search) -> dict[str, str]:
    """Return the SHA-256 of every index document's content, by its key."""
    layout = await search.register.recent()
    if layout is None:
        return {}
    found: dict[str, str] = {}
    after: str | None = None
    while True:
        try:
            hits = await search.index.list(layout.serving.name, tenant_id, limit=DOCUMENTS, after=after)
        except IndexMissing:
            raise SearchUnavailable() from None
        found |= {hit.key: sha256_hex(hit.data) for hit in hits}
        if len(hits) < DOCUMENTS:
            return found
        after = hits[-1].key
