"""List the closed statements that upkeep moved to events."""

from collections.abc import Iterator, Sequence

from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.events.event import Event, EventKey, StoredEvent
from memnet.domain.events.kept_entries import CLOSED, entries_in, part_of, place_of
from memnet.domain.history.entries import closed_entries
from memnet.operations.history.entry_filter import EntryFilter, ListedEntry
from memnet.ports import Page
from memnet.service import Service
from memnet.stores import read_events


async def list_closed(
    scope: UserScope, actor: Actor, service: Service, *, only: EntryFilter, limit: int, cursor: str | None
) -> Page[ListedEntry]:
    """Return the closed statements in up to `limit` events, in the order of the events' ids.

    A statement in several events is read with the first of them; if one was deleted, it is not listed. A page may be
    empty before the end. Raises InvalidCursor, Unavailable.
    """
    page = await service.events.list_of_user(scope, begins=CLOSED, limit=limit, cursor=cursor)
    found = []
    for events in await read_closed([row.key for row in page.items], service):
        found += [row for row in _rows(scope, events, actor, only, service) if only.takes(row.said)]
    return Page(found, page.next_cursor)


async def read_closed(keys: Sequence[EventKey], service: Service) -> Sequence[Sequence[Event]]:
    """Return the events with closed statements, each followed by the other parts of its statement. Raises Unavailable.

    Every part may be among the keys; only the first one gives the statement.
    """
    first = await _read(keys, service)
    parts = await _read([EventKey(one.scope, name) for one in first for name in _other_parts(one.event)], service)
    others = {part.key: part.event for part in parts}
    groups = []
    for one in first:
        wanted = (EventKey(one.scope, name) for name in _other_parts(one.event))
        groups.append([one.event, *(others[key] for key in wanted if key in others)])
    return groups


async def _read(keys: Sequence[EventKey], service: Service) -> Sequence[StoredEvent]:
    found = await read_events(keys, events=service.events)
    return [stored for stored in found.values() if stored is not None]


def _other_parts(event: Event) -> Sequence[str]:
    part, count = part_of(event)
    return [f"{event.event_id.removesuffix('-1')}-{number}" for number in range(2, count + 1)] if part == 1 else ()


def _rows(
    scope: UserScope, events: Sequence[Event], actor: Actor, only: EntryFilter, service: Service
) -> Iterator[ListedEntry]:
    first = events[0]
    place = place_of(scope, first)
    if place is None:
        return
    key, section = place
    covering = only.covering(service.catalog, key, actor)
    if covering or not only.is_by_rules:
        for said in closed_entries(entries_in(events), section, covering, first.timestamp):
            yield ListedEntry(key, None, said, first.event_id)
