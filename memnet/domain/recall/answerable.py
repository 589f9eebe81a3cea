"""Whether the candidates can answer a question at all: what it asks for occurs in them, or something near in meaning.

A question about what was never mentioned gets nothing, instead of the least unsuitable lines.
"""

from collections.abc import Sequence

from memnet.domain.catalog.ranker import Constants
from memnet.domain.core.terms import Terms
from memnet.domain.core.words import STOP_WORDS, plain_words, stem, words
from memnet.domain.recall.asked import without, without_times
from memnet.domain.recall.english import ASKING, NAME

_ASKING = frozenset(map(stem, ASKING))


def is_answerable(asked: str, speakers: frozenset[str], said: Sequence[Terms], constants: Constants) -> bool:
    """Return whether texts, may answer a question; `speakers` are its words that name speakers.

    They may not if a name in an English question occurs in none, or if too few words of the question occur in any.
    """
    text = without(without_times(asked), speakers)
    wanted = set(words(text)) - _ASKING
    known = {word for word in wanted if any(word in text.counts for text in said)}
    if not STOP_WORDS.isdisjoint(plain_words(text)):
        names = {stem(name.lower()) for name in NAME.findall(text)} & wanted
        if not names <= known:
            return False
    return len(known) >= constants.least_known * len(wanted)
