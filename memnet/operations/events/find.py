"""Find turns and events that may answer a query: two searches of the index side by side, and what is marked for it.

What is marked may be missing from the index. It is read from the storage, so that everything acknowledged is found.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from memnet.domain.core.errors import DecryptionFailed, SearchUnavailable, Unavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.core.user_item import ItemKey
from memnet.domain.events.compact_vector import expand
from memnet.domain.events.event import StoredEvent, load
from memnet.domain.events.event_search import IndexDocument, IndexKind, IndexQuery, Mode, Vector, matches
from memnet.domain.events.index_layout import LAYOUT, IndexVersion, load_layout
from memnet.domain.recall.candidate import Candidate
from memnet.domain.recall.found_candidates import event_candidate, index_key, most_likely, turn_candidate
from memnet.domain.replay.searchable_turn import SearchableTurn, TurnPlace, load_turn, newest_of_each
from memnet.domain.replay.turn_mark import TurnMark
from memnet.domain.sealing import sealing
from memnet.operations.events.index_turns import read_turns
from memnet.paging import Listing, rows
from memnet.ports import EventHit, Hits, IndexMissing
from memnet.service import Service
from memnet.stores import KeyRing, Marked, Search, Unsealed, read_events

MAX_MARKS = 5000
"""The marks in one page of a list."""
MAX_READ = 1000
"""The most marked snapshots that one search reads, the newest first."""
MAX_EVENTS_READ = 200
"""The same for marked events."""
NO_HITS = Hits([], more=False)
log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Indexed:
    """What the index found, each list best first; `vector` of the query, if its meaning was searched."""

    by_words: Hits = NO_HITS
    by_meaning: Hits = NO_HITS
    vector: Vector | None = None
    is_embedded: bool = True
    """False: the embeddings are unavailable, and words alone were searched."""

    @property
    def mode(self) -> Mode:
        """How the results of this query can be ranked."""
        return Mode.LEXICAL if self.vector is None else Mode.HYBRID

    def compared(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates; one without a vector gets the similarity that the index returned."""
        meaning = {hit.key: hit.score for hit in self.by_meaning.items}
        return [
            replace(one, found_by_meaning=meaning[key])
            if meaning and one.vector is None and (key := index_key(one)) in meaning
            else one
            for one in candidates
        ]


@dataclass(frozen=True, slots=True)
class Read:
    """Turns and events that were read, by the key of the index."""

    turns: Mapping[str, SearchableTurn] = field(default_factory=dict)
    events: Mapping[str, StoredEvent] = field(default_factory=dict)
    vectors: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Of events. A turn has its own."""
    known: Mapping[str, Candidate] = field(default_factory=dict)
    """The candidates of turns that this process has made before."""
    is_complete: bool = True
    stored: Mapping[ItemKey, frozenset[str]] = field(default_factory=dict)
    """The messages of snapshots that were read from the storage, or were deleted: what else the index shows of them is
    out of date.
    """
    deleted: frozenset[str] = frozenset()
    """Events that were deleted, which the index may still show."""

    def __contains__(self, key: str) -> bool:
        return key in self.turns or key in self.events

    @property
    def speakers(self) -> Sequence[str]:
        """The names of those who speak in the turns."""
        return sorted({turn.speaker for turn in self.turns.values()})

    def with_others(self, others: "Read") -> "Read":
        """Return these and the others, which count where both have the same key."""
        if not (others.turns or others.events or others.stored or others.deleted):
            return replace(self, is_complete=self.is_complete and others.is_complete)
        same = {
            key: replace(turn, vector=own.vector)
            for key, turn in others.turns.items()
            if (own := self.turns.get(key)) is not None and own.text == turn.text
        }
        stored, deleted = {**self.stored, **others.stored}, self.deleted | others.deleted
        turns = {**self.turns, **others.turns, **same}
        events = {**self.events, **others.events}
        return Read(
            {key: turn for key, turn in turns.items() if key in stored.get(turn.snapshot, (key,))},
            {key: event for key, event in events.items() if key not in deleted},
            {**self.vectors, **others.vectors},
            {**{key: one for key, one in self.known.items() if key not in others.turns}, **others.known},
            self.is_complete and others.is_complete,
            stored,
            deleted,
        )

    def best(self, text: str, most: int) -> "Read":
        """Return these, or the best `most` by the words of a text if there are more."""
        if len(self.turns) + len(self.events) <= most:
            return self
        kept = {index_key(one) for one in most_likely(self.candidates(), text, most)}
        turns = {key: turn for key, turn in self.turns.items() if key in kept}
        return replace(self, turns=turns, events={key: one for key, one in self.events.items() if key in kept})

    def candidates(self) -> list[Candidate]:
        """Return them as candidates."""
        events = [event_candidate(one, self.vectors.get(key)) for key, one in self.events.items()]
        turns = [self.known.get(key) or turn_candidate(turn, key) for key, turn in self.turns.items()]
        return [*turns, *events]


async def search_index(query: IndexQuery, service: Service, *, is_lexical: bool = False) -> Indexed:
    """Search by words and, if there are embeddings, by meaning alone, both at once.

    If the embeddings are unavailable, words alone are searched. Raises SearchUnavailable, Unavailable.
    """
    words, meaning = await asyncio.gather(
        search_words(query, service), asyncio.sleep(0, Indexed()) if is_lexical else _search_meaning(query, service)
    )
    return replace(meaning, by_words=words)


async def _search_meaning(query: IndexQuery, service: Service) -> Indexed:
    meaning = await embed_query(query, service)
    return replace(meaning, by_meaning=await search_near(query, meaning.vector, service))


async def embed_query(query: IndexQuery, service: Service) -> Indexed:
    """Return the vector of the text, if there are embeddings and the index was built with them. Raises Unavailable."""
    search = service.search
    layout = await search.register.recent()
    if not query.text or search.embedder is None:
        return Indexed()
    if layout is not None and not layout.serving.takes(search.model, search.dimensions):
        return Indexed()
    try:
        (vector,) = await search.embedder.embed([query.text])
    except Unavailable:
        return Indexed(is_embedded=False)
    return Indexed(vector=list(vector))


async def search_near(query: IndexQuery, vector: Vector | None, service: Service) -> Hits:
    """Search for what is nearest to a vector of `embed_query`. Raises SearchUnavailable, Unavailable."""
    layout = await service.search.register.recent()
    return NO_HITS if layout is None or vector is None else await _find(layout.serving, query, vector, service.search)


async def search_words(query: IndexQuery, service: Service) -> Hits:
    """Search by the words of a query, if it has any. Raises SearchUnavailable, Unavailable."""
    layout = await service.search.register.recent()
    if layout is None or query.words == "":
        return NO_HITS
    return await _find(layout.serving, query, None, service.search)


def is_of_index(error: SearchUnavailable | Unavailable) -> bool:
    """Return whether the index failed, and not the storage."""
    return bool(error.details.get("dependency", "search") == "search")


async def _find(serving: IndexVersion, query: IndexQuery, vector: Vector | None, search: Search) -> Hits:
    """Search the index; if it does not exist, the one that replaced it. Raises SearchUnavailable, Unavailable."""
    try:
        return await search.find(serving.name, query, vector)
    except IndexMissing:
        stored = await search.register.read(LAYOUT)
        now = None if stored is None else load_layout(stored.data).serving
        if now is None or now.name == serving.name:
            log.error("the index %s does not exist: run memnet search reindex", serving.name)
            raise SearchUnavailable() from None
    if vector is not None and not now.takes(search.model, search.dimensions):
        return NO_HITS
    try:
        return await search.find(now.name, query, vector)
    except IndexMissing:
        raise SearchUnavailable() from None


async def read_hits(scope: UserScope, hits: Sequence[EventHit], service: Service) -> Read:
    """Return the turns and events of results; those that are not the user's or cannot be unsealed are left out.

    Raises VaultUnavailable, Unavailable.
    """
    every = {hit.key: hit for hit in hits}
    sealed = [hit for hit in every.values() if hit.kind is IndexKind.TURN]
    events, vectors = {}, {}
    for hit in every.values():
        if hit.kind is not IndexKind.EVENT:
            continue
        stored = load(hit.data)
        if stored is None or stored.scope != scope:
            log.error("the index returned an event that is not of the user, which was left out")
            continue
        events[hit.key] = stored
        if hit.vector is not None:
            vectors[hit.key] = expand(hit.vector)
    turns, known = await _unsealed(scope, sealed, service)
    return Read(turns, events, vectors, known)


async def _unsealed(
    scope: UserScope, hits: Sequence[EventHit], service: Service
) -> tuple[dict[str, SearchableTurn], dict[str, Candidate]]:
    """Return the turns and their candidates. What this process has unsealed before is used while its key exists."""
    if not hits:
        return {}, {}
    now, unsealed = service.clock.now(), service.search.unsealed
    before = unsealed.find(scope, {hit.key: hit.data for hit in hits}, now)
    sealed = {hit.key: sealing.parts_of(hit.data) for hit in hits if hit.key not in before}
    key_ids = {one.key_id for one in (*before.values(), *sealed.values()) if one is not None}
    keys = await KeyRing(service.vault).find(scope, key_ids)
    found = {key: one for key, one in before.items() if one.key_id in keys}
    for hit in hits:
        if hit.key in before:
            continue
        place, parts = TurnPlace(scope, hit.key), sealed[hit.key]
        try:
            if parts is None:
                raise DecryptionFailed
            turn = load_turn(parts.unseal(place, keys), place)
        except DecryptionFailed:
            log.error("the index returned a turn that cannot be read, which was left out")
            continue
        found[hit.key] = Unsealed(hit.data, parts.key_id, turn, turn_candidate(turn, hit.key), now)
        unsealed.remember(hit.key, found[hit.key])
    return {key: one.turn for key, one in found.items()}, {key: one.candidate for key, one in found.items()}


@dataclass(frozen=True, slots=True)
class Marks:
    """What is marked for the index, because the index may not show it, or because it was deleted."""

    turns: Sequence[TurnMark] = ()
    events: Sequence[Marked] = ()

    def deleted(self) -> Read:
        """Return what was deleted: a search that has not read the other marks in time still leaves it out."""
        gone: dict[ItemKey, frozenset[str]] = {
            mark.key: frozenset() for mark in self.turns if mark.deleted_at is not None
        }
        events = frozenset(mark.key.index_key for mark in self.events if mark.deleted_at is not None)
        return Read(stored=gone, deleted=events)


async def list_marks(query: IndexQuery, service: Service) -> Marks:
    """List what is marked of the user: one call for each kind that the query wants. Raises Unavailable."""
    wanted, scope = query.wanted(), query.scope
    turns, events = await asyncio.gather(
        _listed(partial(service.turn_marks.list_of, scope)) if IndexKind.TURN in wanted else _nothing(),
        _listed(partial(service.events.list_marked_of_user, scope)) if IndexKind.EVENT in wanted else _nothing(),
    )
    return Marks(turns, events)


async def _listed(listing: Listing[T]) -> Sequence[T]:
    return [mark async for mark in rows(listing, MAX_MARKS)]


async def _nothing() -> Sequence[Any]:
    return ()


async def read_marked(query: IndexQuery, marks: Marks, service: Service) -> Read:
    """Return what is marked and matches the query's filters. Raises VaultUnavailable, Unavailable."""
    turns, events = await asyncio.gather(
        _marked_turns(query, marks.turns, service), _marked_events(query, marks.events, service)
    )
    return turns.with_others(events).with_others(marks.deleted())


async def find_marked(query: IndexQuery, service: Service) -> Read:
    """List and read what is marked. Raises VaultUnavailable, Unavailable."""
    return await read_marked(query, await list_marks(query, service), service)


async def _marked_turns(query: IndexQuery, marks: Sequence[TurnMark], service: Service) -> Read:
    waiting = [mark for mark in marks if mark.deleted_at is None]
    newest = sorted(waiting, key=lambda mark: mark.since, reverse=True)[:MAX_READ]
    known = dict(service.turn_marks.cache.find(newest))
    missing = {mark.key: mark for mark in newest if mark.key not in known}
    if missing:
        for key, turns in (await read_turns(query.scope, list(missing), service)).items():
            if turns is not None:
                known[key] = turns
                service.turn_marks.cache.remember(missing[key], turns)
    turns = newest_of_each(turn for mark in newest for turn in known.get(mark.key, ()))
    found = {turn.index_key: turn for turn in turns if matches(turn.filtered(), query)}
    stored = {key: frozenset(turn.index_key for turn in listed) for key, listed in known.items()}
    return Read(found, is_complete=len(waiting) <= MAX_READ, stored=stored)


async def _marked_events(query: IndexQuery, marks: Sequence[Marked], service: Service) -> Read:
    now = service.clock.now()
    deleted = {mark.key for mark in marks if mark.deleted_at is not None}
    since = {mark.key: mark.since for mark in marks if mark.key not in deleted and not mark.is_settled(now)}
    newest = sorted(since, key=lambda key: since[key], reverse=True)[:MAX_EVENTS_READ]
    read = (await read_events(newest, events=service.events)).values()
    found = {one.index_key: one for one in read if one is not None and matches(IndexDocument(one).fields(), query)}
    return Read(events=found, is_complete=len(since) <= MAX_EVENTS_READ)
