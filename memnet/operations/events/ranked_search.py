"""Search turns or events: the best of the index and what is marked for it, ranked together, in pages."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memnet.domain.catalog.recall_rules import Rank
from memnet.domain.core.errors import SearchUnavailable, Unavailable
from memnet.domain.events.event_search import EventQuery, Mode, Position, decode_position, encode_position
from memnet.domain.events.turn_search import TurnQuery
from memnet.domain.recall.candidate import Question
from memnet.domain.recall.found_candidates import has_word, index_key
from memnet.domain.recall.recalled import Degraded
from memnet.domain.recall.stage_rank import score
from memnet.operations.events.find import Indexed, Read, find_marked, is_of_index, read_hits, search_index
from memnet.service import Service

WINDOW: Final = 100
"""The best results by words, and as many by meaning, that are ranked together: the same on every page."""
RANK: Final = Rank(stage="rank")


@dataclass(frozen=True, slots=True)
class RankedPage:
    """One page: the keys of the results with their scores, best first, and what was read of them."""

    scores: Mapping[str, float]
    read: Read
    next_cursor: str | None
    mode: Mode
    degraded: Sequence[Degraded]


async def search_ranked(query: EventQuery | TurnQuery, *, cursor: str | None, service: Service) -> RankedPage:
    """Return one page of what matches the text of a query, best first.

    The index and what is marked are searched at the same time, so that everything acknowledged is found. The best of
    both are ranked together; the others of the index follow in its order. Without the index the first page has what is
    marked, and says so. Raises InvalidCursor, SearchUnavailable (a later page), VaultUnavailable, Unavailable.
    """
    at = Position() if cursor is None else decode_position(query, cursor)
    window = replace(query, top=WINDOW, skip=0)
    marked, found = await asyncio.gather(
        find_marked(window, service), _search(window, service, is_lexical=at.lexical, is_first=cursor is None)
    )
    indexed = found or Indexed()
    if cursor is not None and not indexed.is_embedded:
        raise Unavailable(dependency="embeddings")
    hits = [*indexed.by_words.items, *indexed.by_meaning.items]
    read = (await read_hits(query.scope, hits, service)).with_others(marked)
    order = _order(query, read, indexed, service)
    page = dict(list(order.items())[at.ranked : at.ranked + query.top])
    end = Position(at.ranked + len(page), at.passed, lexical=indexed.vector is None)
    more = indexed.by_words.more
    if len(page) < query.top and more:
        rest = await _search(replace(window, skip=WINDOW + at.passed), service, is_lexical=True, is_first=False)
        hits = list(rest.by_words.items) if rest else []
        others = [number for number, hit in enumerate(hits) if hit.key not in order][: query.top - len(page)]
        passed = others[-1] + 1 if others else len(hits)
        more = passed < len(hits) or bool(rest and rest.by_words.more)
        end = replace(end, passed=at.passed + passed)
        read = (await read_hits(query.scope, [hits[number] for number in others], service)).with_others(read)
        page |= {hits[number].key: 0.0 for number in others if hits[number].key in read}
    more = more or end.ranked < len(order)
    degraded = [*([] if found else [Degraded.SEARCH]), *([] if marked.is_complete else [Degraded.BACKLOG])]
    return RankedPage(page, read, encode_position(query, end) if more else None, indexed.mode, degraded)


async def _search(
    query: EventQuery | TurnQuery, service: Service, *, is_lexical: bool, is_first: bool
) -> Indexed | None:
    """Search the index; None if it is unavailable and this is the first page."""
    try:
        return await search_index(query, service, is_lexical=is_lexical)
    except (SearchUnavailable, Unavailable) as error:
        if is_first and is_of_index(error):
            return None
        raise


def _order(query: EventQuery | TurnQuery, read: Read, indexed: Indexed, service: Service) -> Mapping[str, float]:
    """Return the keys of what was read, ranked, and then of what words found besides, each with its score."""
    question = Question(
        text=query.text or "",
        now=service.clock.now(),
        vector=indexed.vector,
        embedder=None if indexed.vector is None else service.search.model,
        speakers=read.speakers,
    )
    candidates = indexed.compared(read.candidates())
    words = {hit.key: hit.score for hit in indexed.by_words.items}
    near = {hit.key for hit in indexed.by_meaning.items}
    matching = [one for one in candidates if index_key(one) in words or has_word(query.text or "", one)]
    found = {one.key for one in [*matching, *(one for one in candidates if index_key(one) in near)]}
    # A search is no question: what matches is returned, however little of it.
    ranked, _ = score(RANK, candidates, question, service.catalog.rankers)
    order = {one.candidate.key: one.score for one in ranked if one.candidate.key in found}
    # What has a word of the query is found, however little it says.
    matching.sort(key=lambda one: (-words.get(index_key(one), 0.0), one.key))
    least = min([0.0, *order.values()])
    order |= {one.key: least for one in matching if one.key not in order}
    return {key.rpartition("/")[2]: score for key, score in order.items()}
