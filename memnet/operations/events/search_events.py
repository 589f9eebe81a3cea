"""Search a user's events by words, by meaning where there are embeddings, and by filters."""

import asyncio
from dataclasses import replace

from memnet.domain.core.errors import SearchUnavailable
from memnet.domain.events.event_search import (
    EventQuery,
    FoundEvent,
    FoundEvents,
    Mode,
    Position,
    decode_position,
    encode_position,
)
from memnet.domain.recall.recalled import Degraded
from memnet.operations.events.find import list_marks, read_hits, search_words
from memnet.operations.events.ranked_search import search_ranked
from memnet.service import Service


async def search_events(query: EventQuery, *, cursor: str | None, service: Service) -> FoundEvents:
    """Return one page of the events that match `query`, best first, or newest first if it has no text.

    Without a text the index alone answers, so an event that it does not show yet is absent; a deleted one is left out.
    If the embeddings are unavailable, words alone decide, and `mode` reports it; after pages that were ranked by
    meaning, Unavailable is raised instead of mixing two orders. Raises InvalidCursor, SearchUnavailable, Unavailable.
    """
    if query.text is None:
        return await _newest(query, Position() if cursor is None else decode_position(query, cursor), service)
    found = await search_ranked(query, cursor=cursor, service=service)
    if Degraded.SEARCH in found.degraded:
        raise SearchUnavailable()
    events = [FoundEvent(found.read.events[key].data, score) for key, score in found.scores.items()]
    return FoundEvents(events, found.next_cursor, found.mode)


async def _newest(query: EventQuery, at: Position, service: Service) -> FoundEvents:
    marks, hits = await asyncio.gather(
        list_marks(query, service), search_words(replace(query, skip=at.ranked), service)
    )
    read = (await read_hits(query.scope, hits.items, service)).with_others(marks.deleted())
    events = [FoundEvent(read.events[hit.key].data, hit.score) for hit in hits.items if hit.key in read]
    following = encode_position(query, Position(at.ranked + query.top)) if hits.more else None
    return FoundEvents(events, following, Mode.NEWEST)
