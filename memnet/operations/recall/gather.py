"""Gather the candidates of a recall in one wave: the documents of the profile, the index, and what is marked."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from memnet.domain.catalog.profile import Profile
from memnet.domain.context.clarification import clarification
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.scope import DocumentKey, Json, UserScope
from memnet.domain.events.event_search import Mode
from memnet.domain.history.statements import EntryState
from memnet.domain.recall.candidate import Candidate, Question
from memnet.domain.recall.entry_uses import Counted
from memnet.domain.recall.found_candidates import without_repeated
from memnet.domain.recall.recall_query import RecallQuery
from memnet.domain.recall.recalled import Degraded, RecallRequest
from memnet.domain.recall.shown import shown_for
from memnet.domain.replay.searchable_turn import is_searchable
from memnet.operations.events.find import (
    NO_HITS,
    Indexed,
    Read,
    embed_query,
    list_marks,
    read_hits,
    read_marked,
    search_near,
    search_words,
)
from memnet.operations.recall.best_effort import BestEffort
from memnet.operations.recall.known_then import stored_then
from memnet.operations.recall.neighbours import find_around, find_last
from memnet.operations.recall.read_entries import ReadEntries, read_entries
from memnet.service import Service

TAKE: Final = 60
"""The best turns and events by words, and as many by meaning."""
MARKED: Final = 1000
"""The most turns and events of those that are marked, the best by words."""
EMBEDDED: Final = 64
"""The most texts of entries, and of what is marked, that one recall embeds."""
Vectors = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Gathered:
    """The candidates, the question with its vector, and what is missing."""

    candidates: Sequence[Candidate]
    question: Question
    mode: Mode
    degraded: Sequence[Degraded]
    clarification: Mapping[str, Json] | None = None
    """The oldest question that waits for the user now."""


@dataclass(frozen=True, slots=True)
class _Here:
    """What was read from the storage: entries, what is marked, and the vectors of their texts."""

    entries: ReadEntries
    marked: Read
    vectors: Vectors


async def gather(request: RecallRequest, profile: Profile, service: Service) -> Gathered:
    """Read documents, uses and marks, and search the index, all at once; then read what was said around the best.

    Documents are always awaited, and the list of what was deleted; everything else until the profile's deadline. Raises
    VaultUnavailable, Unavailable (the storage).
    """
    effort, query, shown = BestEffort(profile.recall.seconds), _query(request, profile), shown_for(request, profile)
    here, uses, (indexed, found) = await asyncio.gather(
        _here(request, profile, query, effort, service),
        effort.get_uses(service.usage.read(request.scope), {}),
        _find(query, request.conversation_id, effort, service),
    )
    said = found.with_others(here.marked)
    if not here.marked.is_complete:
        effort.missing.add(Degraded.BACKLOG)
    if not indexed.is_embedded:
        effort.missing.add(Degraded.EMBEDDINGS)
    candidates = [
        *_used(here.entries.candidates, request.scope, uses),
        *indexed.compared(said.candidates()),
    ]
    candidates = [one for one in candidates if shown.takes(one)]
    if here.vectors:
        candidates = [_meant(one, here.vectors) for one in candidates]
    candidates = without_repeated(candidates)
    if request.as_of is not None:
        candidates = await stored_then(request.scope, candidates, request.as_of, service)
    question = Question(
        text=request.query,
        now=service.clock.now(),
        conversation_id=request.conversation_id,
        vector=indexed.vector,
        embedder=None if indexed.vector is None else service.search.model,
        recency_weight=request.recency_weight,
        speakers=said.speakers,
    )
    degraded = sorted({*effort.missing, *here.entries.degraded}, key=list(Degraded).index)
    waiting = [one for one in here.entries.candidates if one.state is EntryState.WAITING and request.as_of is None]
    waiting = [one for one in waiting if not one.is_outdated]
    asked = clarification(profile, ((one.place.binding_id, one.value) for one in waiting if one.place is not None))
    return Gathered(candidates, question, indexed.mode, degraded, asked)


def _query(request: RecallRequest, profile: Profile) -> RecallQuery:
    profiles: tuple[str, ...] = ()
    if profile.turns is not None and is_searchable(profile):
        profiles = tuple(profile.turns.of_profiles) or (profile.profile_id,)
    until = shown_for(request, profile).until
    return RecallQuery(
        scope=request.scope,
        text=request.query,
        profiles=profiles,
        top=TAKE,
        until=None if until is None else until + timedelta(milliseconds=1),
    )


async def _here(
    request: RecallRequest, profile: Profile, query: RecallQuery, effort: BestEffort, service: Service
) -> _Here:
    """Read documents and what is marked, and embed what of it has no vector yet."""
    entries, marked = await asyncio.gather(read_entries(request, profile, service), _marked(query, effort, service))
    marked = marked.best(request.query, MARKED)
    candidates = [*entries.candidates, *marked.candidates()]
    return _Here(entries, marked, await effort.get(_vectors(candidates, effort, service), {}))


async def _marked(query: RecallQuery, effort: BestEffort, service: Service) -> Read:
    # The list is awaited: without it the index could show what was deleted.
    marks = await list_marks(query, service)
    return await effort.get(read_marked(query, marks, service), marks.deleted())


async def _vectors(candidates: Sequence[Candidate], effort: BestEffort, service: Service) -> Vectors:
    if service.vectors is None or not candidates:
        return {}
    texts = list(dict.fromkeys(one.text for one in candidates))
    try:
        found = await service.vectors.of(texts, embed=EMBEDDED)
    except Unavailable:
        effort.missing.add(Degraded.EMBEDDINGS)
        return {}
    return {text: vector for text, vector in zip(texts, found, strict=True) if vector is not None}


async def _find(
    query: RecallQuery, conversation_id: str | None, effort: BestEffort, service: Service
) -> tuple[Indexed, Read]:
    """Search the index by words and by meaning; then read the conversations of the best, and the last of this one."""

    async def by_meaning() -> Indexed:
        meaning = await effort.get(embed_query(query, service), Indexed())
        return replace(meaning, by_meaning=await effort.get(search_near(query, meaning.vector, service), NO_HITS))

    words, meaning, last = await asyncio.gather(
        effort.get(search_words(query, service), NO_HITS),
        by_meaning(),
        effort.get(find_last(query, conversation_id, service), NO_HITS),
    )
    indexed = replace(meaning, by_words=words)
    hits = [*words.items, *meaning.by_meaning.items, *last.items]
    # Not bounded: what was found in time is not lost to the deadline.
    read = await read_hits(query.scope, hits, service)
    around = await effort.get(find_around(query, indexed, read, service), Read())
    return indexed, around.with_others(read)


def _used(entries: Sequence[Candidate], scope: UserScope, uses: Counted) -> Iterable[Candidate]:
    """Yield the entries with their uses."""
    for one in entries:
        place = one.place
        if place is None or not uses:
            yield one
            continue
        used = uses.get(DocumentKey(scope, place.namespace, place.path), {}).get(place.entry_id or "")
        yield one if used is None else replace(one, uses=used.uses, last_used_at=used.last_used_at)


def _meant(one: Candidate, vectors: Vectors) -> Candidate:
    vector = vectors.get(one.text) if one.vector is None else None
    return one if vector is None else replace(one, vector=vector)
