"""Take events that rest on a withdrawn source out of the storage and the index, and put them back."""

from contextlib import suppress

from memnet.domain.catalog.retention_policy import Kind
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.scope import Json, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.events import event as events
from memnet.domain.events.event import Event, EventKey
from memnet.domain.events.kept_entries import place_of, whole_entries
from memnet.domain.governance.withdrawn import Fate, PlannedItem, Withdrawal, WithdrawnKind, copy_key
from memnet.domain.governance.withdrawn_entries import strip_entries, with_entries
from memnet.domain.upkeep.maintenance import entry_text
from memnet.operations.events.write_event import write_event
from memnet.operations.replay.closed_sources import read_closed_sources
from memnet.operations.replay.withdrawn_copies import keep_copy, read_copy
from memnet.ports import StoreConflict
from memnet.service import Service
from memnet.stores import unindex_events


async def remove_event(scope: UserScope, item: PlannedItem, withdrawal: Withdrawal, service: Service) -> None:
    """Delete an event and its document in the index; with the fate `strip`, another event keeps its other entries."""
    key = EventKey(scope, item.name)
    data = await service.events.get(key)
    stored = None if data is None else events.load(data)
    if data is not None and stored is not None:
        named = stored.event.evidence_members.get("profile_id")
        since = min(stored.event.timestamp, to_text(service.clock.now()))
        await keep_copy(scope, item, withdrawal, data, service, rule=Kind.EVENTS, since=since, profile_id=named)
        replacement = _replacement(scope, stored.event, withdrawal, service) if item.fate is Fate.STRIP else None
        if replacement is not None:
            await write_event(scope, replacement, service, index=False)
    # The marker first: searches leave the event out, and a reconciliation finds its documents.
    await service.events.mark_deleted(key)
    await service.events.delete(key)
    with suppress(Unavailable):
        await unindex_events([key], search=service.search)


def _replacement(scope: UserScope, event: Event, withdrawal: Withdrawal, service: Service) -> Event | None:
    """Return the event that keeps what does not rest on the source; None if nothing is left."""
    left = strip_entries(whole_entries(event), withdrawal.source)
    return with_entries(event, left, [_text(scope, event, entry, service) for entry in left]) if left else None


def _text(scope: UserScope, event: Event, entry: Json, service: Service) -> str:
    """Return the text of an entry by the rule of its section; its JSON if no profile has one any more."""
    place = place_of(scope, event)
    for rules in service.catalog.covering(place[0]) if place is not None else ():
        for rule in rules.section_rules:
            if place is not None and rule.section == place[1]:
                return entry_text(entry, rule)
    return canonical(entry).decode()


async def restore_event(scope: UserScope, item: PlannedItem, withdrawal: Withdrawal, service: Service) -> bool:
    """Put an event back, have it indexed again, and delete those that have replaced it."""
    key, data = EventKey(scope, item.name), await read_copy(scope, item, withdrawal, service)
    stored = None if data is None else events.load(data)
    if data is None or stored is None:
        return False
    await service.events.mark(key, service.ids.new())
    try:
        await service.events.create(key, data, timestamp=stored.event.timestamp)
    except StoreConflict:
        if await service.events.get(key) != data:
            return False
    await service.events.unmark_deleted(key)
    if item.fate is Fate.STRIP:
        await _delete_replacements(scope, stored.event, withdrawal, service)
    return True


async def _delete_replacements(scope: UserScope, event: Event, withdrawal: Withdrawal, service: Service) -> None:
    """Delete the event that has replaced one, and those that other retractions have put in the place of that one.

    Their copies go, too: what these retractions took is in the event that is back, and they take it out again.
    """
    others = [one for one in await read_closed_sources(scope, service.records) if one != withdrawal]
    waiting = [_replacement(scope, event, withdrawal, service)]
    while waiting:
        made = waiting.pop()
        if made is None:
            continue
        waiting += [_replacement(scope, made, other, service) for other in others]
        key = EventKey(scope, made.event_id)
        await service.events.mark_deleted(key)
        await service.events.delete(key)
        with suppress(Unavailable):
            await unindex_events([key], search=service.search)
        item = PlannedItem(WithdrawnKind.EVENT, made.event_id, Fate.STRIP)
        for other in others:
            await service.records.delete(copy_key(scope, other.retraction_id, item))
