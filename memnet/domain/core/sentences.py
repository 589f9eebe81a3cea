"""A text as sentences and words, as far as possible without a grammar; the common words are English."""

import re
from collections.abc import Iterator
from itertools import groupby

from memnet.domain.core.folding import fold

_SENTENCE_END = re.compile("(?<=[.!?])\\s+|(?<=[\u3002\uff01\uff1f])\\s*|\n+")
_LETTERS = re.compile(r"[^\W\d_][\w'-]*")
_STRETCH = re.compile(r"[^\W_][\w'-]*(?: [^\W_][\w'-]*)*")
"""Words with nothing but a space between them."""
SHORTEST_WORD = 4
STEM = 5
"""Letters by which two forms of a word are taken for one: "prefer", "prefers", "preferred"."""
_COMMON = """
about actually after again almost also always amazing another anything around awesome because been before being
between both come could does doing done down during each either enough even every everyone everything excited
first from going gonna good great happened have hello here here's i'll into it's just keep know like little
look looking made make many maybe might more most much must myself need never nothing once only other over people
please pretty quite really right said same shall should since someone something sometimes still such sure take tell
than thank thanks that that's their them then there there's these they they're thing things think thinking this
those though through time today tomorrow totally under understood until upon used using very want wanted well were
what what's when where which while will with without would yesterday you're your yours
"""
COMMON = frozenset(_COMMON.split())
"""Words that say nothing of what a text is about."""


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, each on one line."""
    for part in _SENTENCE_END.split(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")):
        sentence = " ".join(part.split())
        if sentence:
            yield sentence


def names(sentence: str) -> list[str]:
    """The names in a sentence, as far as capitals tell: capitalised words side by side.

    The first word of a sentence is capitalised whatever it is, so a word next to it is no name either.
    """
    found: list[str] = []
    is_first = True
    for stretch in _STRETCH.findall(sentence):
        for is_name, run in groupby(stretch.split(), _is_capitalised):
            if is_name and not is_first:
                found.append(" ".join(run).removesuffix("'s"))
            is_first = False
    return found


def _is_capitalised(word: str) -> bool:
    return word[0].isupper() and word.partition("'")[0] != "I"


def words(text: str) -> set[str]:
    """The words of a text that say something, in lower case."""
    return {word for word in _LETTERS.findall(text.casefold()) if len(word) >= SHORTEST_WORD} - COMMON


def traces(text: str) -> set[str]:
    """What two texts have in common if they are about the same: beginnings of words, numbers.

    Where a script has no case and often no spaces, it is each pair of adjacent characters.
    """
    found: set[str] = set()
    for word in fold(text):
        if word.isdigit():
            found |= {word} if len(word) > 1 else set()
        elif word.isascii() or word.upper() != word:
            found |= {word[:STEM]} if len(word) >= SHORTEST_WORD and word not in COMMON else set()
        else:
            found |= {word[place : place + 2] for place in range(len(word) - 1)}
    return found
