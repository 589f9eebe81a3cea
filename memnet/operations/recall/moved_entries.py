"""Read the closed statements that upkeep moved from the documents of a profile to events."""

from datetime import datetime
from functools import partial

from memnet.domain.catalog.profile import Profile
from memnet.domain.core.scope import UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.events.kept_entries import CLOSED, place_of
from memnet.domain.recall.candidate import Candidate
from memnet.domain.recall.document_entries import entries_of_events, unexpired
from memnet.operations.history.closed_entries import read_closed
from memnet.paging import rows
from memnet.service import Service

MAX_EVENTS = 200
"""The most events that one recall reads, those of the latest upkeep."""


async def moved_entries(
    scope: UserScope, profile: Profile, as_of: datetime | None, service: Service
) -> tuple[list[Candidate], bool]:
    """Return the statements in events that were stored by then, and whether these were all.

    The events are read from the storage, so the index does not matter. Raises Unavailable.
    """
    at = None if as_of is None else to_text(as_of)
    listed = [row async for row in rows(partial(service.events.list_of_user, scope, begins=CLOSED))]
    stored = [row for row in listed if at is None or to_text(row.since) <= at]
    newest = sorted(stored, key=lambda row: (row.since, row.key.event_id), reverse=True)[:MAX_EVENTS]
    found: list[Candidate] = []
    for events in await read_closed([row.key for row in newest], service):
        place = place_of(scope, events[0])
        binding = None if place is None else next((b for b in profile.document_bindings if b.covers(place[0])), None)
        if place is not None and binding is not None:
            rules = service.catalog.rules(profile, binding)
            found += unexpired(entries_of_events(events, *place, rules), rules, service.clock.now())
    return found, len(newest) == len(stored)
