"""The measures of candidates for a question: an array by the name of each, in the order of the candidates. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from memnet.domain.catalog.ranker import Constants
from memnet.domain.core.terms import Terms
from memnet.domain.core.words import stem, words
from memnet.domain.recall.answerable import is_answerable
from memnet.domain.recall.asked import asks_when, named_speakers, named_times, without
from memnet.domain.recall.bm25 import Array, counts, scores_of, stretched
from memnet.domain.recall.candidate import Candidate, Question
from memnet.domain.recall.english import GREETINGS, TIME_EXPRESSION
from memnet.domain.recall.meaning import by_meaning, window_similarities
from memnet.domain.recall.sessions import Sessions, sessions_of

SPEAKER, DATE, NEIGHBOUR, SESSION = 0.3, 0.1, 0.2, 0.3
"""What `combined` adds to the score by words and meaning, and how many of a session count."""
BEST = 3
SMALLEST = 1e-9
_GREETINGS = np.array([hash(stem(word)) for word in GREETINGS], dtype=np.int64)
_ROLES = frozenset({"user", "assistant", "system", "tool", "developer", "function"})


@dataclass(frozen=True, slots=True)
class Measured:
    """The measures by name, and what else the stages need to know of the candidates."""

    measures: Mapping[str, Array]
    length: Array
    """The logarithm of the length of the line that each is written as."""
    has_signal: NDArray[np.bool_]
    """Whether a word of the question occurs in its session, or its meaning is near."""
    is_answerable: bool


def measure(candidates: Sequence[Candidate], question: Question, constants: Constants) -> Measured:
    """Measure each candidate, with the statistics of these candidates alone."""
    sessions = sessions_of(candidates, timedelta(hours=constants.session_hours))
    said = [one.terms for one in candidates]
    named = named_speakers(question.text, speakers_of(candidates, question))
    names = frozenset[str]().union(*named.values())
    every, bare = sorted(set(words(question.text))), set(words(without(question.text, names)))
    found = counts(every, [one.counts for one in said])
    is_bare = np.array([word in bare for word in every], dtype=np.bool_)
    turn = _by_line(found + _in_heads(every, said), said, constants)
    pair, session = _by_context(found[:, is_bare], said, sessions, constants)
    similar = by_meaning(candidates, question)
    meaning = window = np.zeros(len(candidates))
    if similar is not None and question.vector is not None:
        meaning = stretched(similar)
        window = stretched(window_similarities(candidates, question.vector, sessions, similar))
    h0 = turn if similar is None else 0.5 * turn + 0.5 * meaning
    speaker, date = by_speaker(candidates, named.keys()), by_date(candidates, question.text)
    h2 = h0 + NEIGHBOUR * (sessions.before(h0) + sessions.after(h0)) + SPEAKER * speaker + DATE * date
    measures = {
        "turn_meaning": meaning,
        "window_meaning": window,
        "pair_words": pair,
        "session_words": session,
        "speaker": speaker,
        "date": date,
        "information": information(said),
        "time_expression": by_time(candidates, question.text),
        "neighbour": np.maximum(sessions.before(h0), sessions.after(h0)),
        "session": sessions.best(h0, 1),
        "combined": h2 + SESSION * sessions.best(h2, BEST),
    }
    nearest = np.zeros(len(candidates)) if similar is None else similar
    asked = found[:, is_bare] if is_bare.any() else found
    has_words = (sessions.total(asked).sum(axis=1) > 0)[sessions.of]
    return Measured(
        measures,
        np.log([1 + len(one.text) + one.terms.head_chars for one in candidates]),
        has_words | (nearest >= max(constants.least_meaning, SMALLEST)),
        bool(nearest.max(initial=0.0) >= constants.clear_meaning)
        or is_answerable(question.text, names, said, constants),
    )


def speakers_of(candidates: Sequence[Candidate], question: Question) -> list[str]:
    """Return the names of speakers; a role is none."""
    found = {*question.speakers, *(one.speaker for one in candidates if one.speaker is not None)}
    return sorted(found - _ROLES - {one.role for one in candidates if one.role is not None})


def by_speaker(candidates: Sequence[Candidate], named: Collection[str]) -> Array:
    """Return 1 for what the only named speaker says."""
    only = next(iter(named)) if len(named) == 1 else None
    return np.array([float(only is not None and one.speaker == only) for one in candidates])


def by_date(candidates: Sequence[Candidate], asked: str) -> Array:
    """Return how near each is to the times that the question names."""
    times = named_times(asked)
    return np.array([max((time.nearness(one.said_at) for time in times), default=0.0) for one in candidates])


def by_time(candidates: Sequence[Candidate], asked: str) -> Array:
    """Return 1 for what names a time, if the question asks when."""
    if not asks_when(asked):
        return np.zeros(len(candidates))
    return np.array([float(TIME_EXPRESSION.search(one.text) is not None) for one in candidates])


def information(said: Sequence[Terms]) -> Array:
    """Return how much each says: the root of the rarity of its words without greetings, 1 for the richest 5 %."""
    total = len(said)
    words, which, holders = np.unique(
        np.concatenate([np.zeros(0, dtype=np.int64), *(text.hashes for text in said)]),
        return_inverse=True,
        return_counts=True,
    )
    rare = np.where(np.isin(words, _GREETINGS), 0.0, np.log(1 + (total - holders + 0.5) / (holders + 0.5)))
    of = np.repeat(np.arange(total), [len(text.counts) for text in said])
    rich = np.sqrt(np.bincount(of, rare[which], minlength=total))
    most = np.percentile(rich, 95) if total else 0.0
    return np.minimum(1.0, rich / most) if most > 0 else np.zeros(total)


def _by_line(found: Array, said: Sequence[Terms], constants: Constants) -> Array:
    """Return the score of each by the words of its line: its day, its speaker and its text."""
    size = np.array([len(text.words) + len(text.head) for text in said], dtype=np.float64)
    return stretched(scores_of(found, size, constants.k1, constants.b))


def _in_heads(wanted: Sequence[str], said: Sequence[Terms]) -> Array:
    """Return how often the head of each has each wanted word."""
    found = np.zeros((len(said), len(wanted)))
    in_any = set[str]().union(*(text.head for text in said))
    for column in (column for column, word in enumerate(wanted) if word in in_any):
        found[:, column] = [text.head.count(wanted[column]) for text in said]
    return found


def _by_context(found: Array, said: Sequence[Terms], sessions: Sessions, constants: Constants) -> tuple[Array, Array]:
    """Return the scores by words of each with the one before it, and of its session."""
    size = np.array([len(text.words) for text in said], dtype=np.float64)
    pair = scores_of(found + sessions.before(found), size + sessions.before(size), constants.k1, constants.b)
    whole = scores_of(sessions.total(found), sessions.total(size), constants.session_k1, constants.session_b)
    return stretched(pair), stretched(whole)[sessions.of]
