"""Search what a user's conversations said: the index, and the marked snapshots that it may not show yet."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from memnet.domain.core.errors import SearchUnavailable, TurnsNotAccepted, Unavailable
from memnet.domain.core.scope import Actor
from memnet.domain.events.event_search import SCORE_DIGITS, Mode, follows
from memnet.domain.events.turn_search import TurnQuery, decode_place, encode_place, newest_first
from memnet.domain.recall.recalled import Degraded
from memnet.domain.replay.searchable_turn import SearchableTurn, is_searchable
from memnet.operations.events.find import find_marked, is_of_index, read_hits, search_words
from memnet.operations.events.ranked_search import search_ranked
from memnet.ports import Hits
from memnet.service import Service


@dataclass(frozen=True, slots=True)
class FoundTurn:
    """A message, and how well it matches; the score orders the messages of one answer."""

    turn: SearchableTurn
    score: float

    def members(self) -> dict[str, object]:
        """Return the members of a result."""
        return {**self.turn.members(), "score": round(self.score, SCORE_DIGITS)}


@dataclass(frozen=True, slots=True)
class FoundTurns:
    """One page of results."""

    items: Sequence[FoundTurn]
    next_cursor: str | None
    mode: Mode
    degraded: Sequence[Degraded] = ()


def searched_profiles(profile_id: str, actor: Actor, service: Service) -> tuple[str, ...]:
    """Return the profiles whose turns a search under this one finds.

    Raises ProfileNotFound, ProfileForbidden, TurnsNotAccepted.
    """
    profile = service.catalog.permitted(profile_id, actor)
    if profile.turns is None or not is_searchable(profile):
        raise TurnsNotAccepted()
    return tuple(profile.turns.of_profiles) or (profile_id,)


async def search_turns(query: TurnQuery, *, cursor: str | None, service: Service) -> FoundTurns:
    """Return one page of the messages that match, best first, or newest first if the query has no text.

    The index and the user's marked snapshots are searched at the same time, so that an acknowledged message is found
    at once. Without the index the first page has what the marked snapshots hold, and says so. Raises InvalidCursor,
    SearchUnavailable (a later page), VaultUnavailable, Unavailable.
    """
    if query.text is None:
        return await _newest(query if cursor is None else decode_place(query, cursor), service)
    found = await search_ranked(query, cursor=cursor, service=service)
    turns = [FoundTurn(found.read.turns[key], score) for key, score in found.scores.items()]
    return FoundTurns(turns, found.next_cursor, found.mode, found.degraded)


async def _newest(query: TurnQuery, service: Service) -> FoundTurns:
    marked, hits = await asyncio.gather(find_marked(query, service), _newest_hits(query, service))
    read = (await read_hits(query.scope, [] if hits is None else hits.items, service)).with_others(marked)
    listed = [turn for turn in read.turns.values() if follows(turn.place, query.after)]
    page = [listed[number] for number in newest_first([turn.place for turn in listed])]
    more = (hits is not None and hits.more) or len(page) > query.top
    page = page[: query.top]
    following = encode_place(query, page[-1].place) if more and page else None
    degraded = [*([Degraded.SEARCH] if hits is None else []), *([] if marked.is_complete else [Degraded.BACKLOG])]
    return FoundTurns([FoundTurn(turn, 1.0) for turn in page], following, Mode.NEWEST, degraded)


async def _newest_hits(query: TurnQuery, service: Service) -> Hits | None:
    """Return the newest of the index; None if it is unavailable and this is the first page."""
    try:
        return await search_words(query, service)
    except (SearchUnavailable, Unavailable) as error:
        if query.after is None and is_of_index(error):
            return None
        raise
