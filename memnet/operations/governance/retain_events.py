"""Remove a user's events that are over, and what the search index holds of them."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from memnet.domain.catalog.retention_policy import Kind
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.timestamps import to_text
from memnet.domain.events.event import EventKey, StoredEvent
from memnet.operations.events.read_events import read_events
from memnet.operations.events.unindex_events import unindex_events
from memnet.operations.governance.delete_expired import RetentionRun, delete_expired
from memnet.service import Service
from memnet.stores import ListedEvent

PAGE = 500
AT_ONCE = 16
MARK = "retention"
"""The mark of an event that was removed: the reconciliation takes it out of the index once more, and then the mark."""


async def retain_events(service: Service, *, run: RetentionRun) -> None:
    """Remove each whose days are over, counted from its own time or from when it was stored, whichever was first.

    It goes by the rule of the profile that its evidence names, as a replay writes it, else by the longest of all. An
    index that does not answer holds nothing up: the mark has the reconciliation see to it. Raises HistoryCorrupt,
    Unavailable.
    """
    tally = run.report.tallies["events"]

    async def remove(keys: Sequence[EventKey], known_at: datetime) -> Sequence[EventKey]:
        return await _remove(keys, known_at, service)

    cursor: str | None = None
    while True:
        page = await service.events.list_of_user(run.scope, limit=PAGE, cursor=cursor)
        found = await read_events([row.key for row in page.items], events=service.events)
        due = []
        for row in page.items:
            if row.key not in found:
                continue
            stored = found[row.key]
            if stored is None:
                run.report.unreadable["events"] += 1
            elif _is_due(stored, row, run):
                due.append(row.key)
            else:
                tally.retained += 1
        await delete_expired(due, remove, tally, run=run)
        cursor = page.next_cursor
        if cursor is None:
            break


def _is_due(stored: StoredEvent, row: ListedEvent, run: RetentionRun) -> bool:
    evidence = stored.event.evidence.members() if stored.event.evidence else {}
    named = evidence.get("profile_id")
    last_due = run.policy.last_due(Kind.EVENTS, named if isinstance(named, str) else None, run.as_of)
    return min(stored.event.timestamp, to_text(row.since)) <= last_due


async def _remove(keys: Sequence[EventKey], known_at: datetime, service: Service) -> Sequence[EventKey]:
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(key: EventKey) -> None:
        async with gate:
            # First: if this is interrupted, the reconciliation still finds the index entries to remove.
            await service.events.mark(key, MARK)
            await service.events.delete(key, known_at=known_at)

    await asyncio.gather(*map(one, keys))
    with suppress(Unavailable):
        await unindex_events(keys, search=service.search)
    return keys
