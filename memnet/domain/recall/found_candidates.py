"""Turns and events as candidates."""

from collections.abc import Sequence

from memnet.domain.core.scope import RESERVED
from memnet.domain.core.words import plain_words, words
from memnet.domain.events.event import StoredEvent
from memnet.domain.recall.bm25 import bm25
from memnet.domain.recall.candidate import Candidate, CandidateKind
from memnet.domain.replay.searchable_turn import SearchableTurn
from memnet.domain.replay.snapshot import uri_of

K1, B = 1.2, 0.75
"""The usual parameters of BM25."""


def index_key(candidate: Candidate) -> str:
    """Return the key in the index of a turn or an event."""
    return candidate.key.rpartition("/")[2]


def most_likely(candidates: Sequence[Candidate], text: str, most: int) -> Sequence[Candidate]:
    """Return the candidates, or the best `most` by the words of a text if there are more."""
    if len(candidates) <= most:
        return candidates
    scores = bm25(words(text), [one.terms for one in candidates], K1, B)
    order = sorted(range(len(candidates)), key=lambda number: (-scores[number], candidates[number].key))
    return [candidates[number] for number in order[:most]]


def has_word(text: str, candidate: Candidate) -> bool:
    """Return whether a candidate has a word of a text, common ones included."""
    return not set(plain_words(text)).isdisjoint(plain_words(candidate.text))


def without_repeated(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates without the digests of conversations whose turns are candidates: those are cited whole."""
    cited = {one.conversation_id for one in candidates if one.kind is CandidateKind.TURN}
    return [one for one in candidates if not (_is_digest(one) and one.conversation_id in cited)]


def _is_digest(candidate: Candidate) -> bool:
    """Return whether a candidate is the event that a replay made."""
    return candidate.kind is CandidateKind.EVENT and (candidate.event_id or "").startswith(RESERVED)


def turn_candidate(turn: SearchableTurn, key: str) -> Candidate:
    """Return a message, whose key in the index is `key`, as a candidate."""
    return Candidate(
        key=f"turn/{key}",
        kind=CandidateKind.TURN,
        text=turn.text,
        said_at=turn.said_at,
        speaker=turn.speaker,
        role=turn.role,
        conversation_id=turn.conversation_id,
        ordinal=turn.ordinal,
        message_ids=(turn.message_id,),
        snapshot_uri=uri_of(turn.snapshot),
        vector=turn.vector,
        terms=turn.terms,
    )


def event_candidate(stored: StoredEvent, vector: Sequence[float] | None = None) -> Candidate:
    """Return an event as a candidate, with its vector, if it is known."""
    event, evidence = stored.event, stored.event.evidence
    return Candidate(
        key=f"event/{stored.index_key}",
        kind=CandidateKind.EVENT,
        text=event.digest,
        said_at=event.timestamp,
        conversation_id=None if evidence is None else evidence.conversation_id,
        message_ids=() if evidence is None else tuple(evidence.message_ids or ()),
        snapshot_uri=event.snapshot_uri or (None if evidence is None else evidence.snapshot_uri),
        event_id=event.event_id,
        entities=event.entities,
        vector=vector,
    )
