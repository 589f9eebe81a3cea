"""Whether two texts say the same, word by word: the same words in the same order, but for a few that add nothing.

Texts with opposite meanings have similar vectors ("gets up early", "gets up late"), and no list has all opposites. So
this lists what may differ, not what must not: a word that is not listed counts. Inflections count too, because
"lived" is not "lives". English and German.
"""

import re
from typing import Final

from memnet.domain.core.text import normalize

_EQUAL: Final = """
    lives | resides | is living
    likes | enjoys | is fond of
    has | s | has got
    is called | is named | s name is
    works for | works at | is employed by | s employer is
    works as | s job is | s profession is | s occupation is
    is allergic to | has an allergy to
    is afraid of | has a fear of
    was born on | s birthday is on | s date of birth is
    speaks | can speak
    wants | would like
    uses | makes use of
    daily | every day | each day
    weekly | every week | each week
    monthly | every month | each month
    yearly | every year | each year
    does not | doesn t | doesnt
    do not | don t | dont
    is not | isn t | isnt
    cannot | can not | can t | cant
    favourite | favorite
    colour | color
    flat | apartment
    few
    a few
    little
    a little
    wohnt in | lebt in
    heisst | namens
    arbeitet als | ist von beruf
    täglich | jeden tag
    wöchentlich | jede woche
    monatlich | jeden monat
    jährlich | jedes jahr
"""
"""Phrases that say the same, in normal form, those of a line. An "s" alone is the end of "Ana's": what Ana has."""
_EMPTY: Final = "a | an | the | is | are | is where | is what | is who | the city of | the town of | ist | sind"
"""Words that add nothing. "of", "by", "in", "was" and German articles are none: "Ana was hired by Tom" is not "Ana
hired Tom", "is in two weeks" not "is two weeks", and "der Hund" bites where "den Hund" is bitten."""
_BETWEEN: Final = " | "


def _phrases() -> dict[str, str]:
    found = dict.fromkeys(_EMPTY.split(_BETWEEN), "")
    for line in filter(None, map(str.strip, _EQUAL.splitlines())):
        phrases = line.split(_BETWEEN)
        found |= dict.fromkeys(phrases, phrases[0])
    return found


_PHRASES: Final = _phrases()
_PHRASE: Final = re.compile(rf"(?<!\S)(?:{'|'.join(map(re.escape, sorted(_PHRASES, key=len, reverse=True)))})(?!\S)")


def meant_words(text: str) -> tuple[str, ...]:
    """Return the words of a text that count, in their order; of phrases that say the same, always the same one."""
    return tuple(_PHRASE.sub(lambda match: _PHRASES[match.group()], normalize(text)).split())


def say_the_same(one: str, other: str) -> bool:
    """Whether two texts have the same words in the same order. The end of one may be the beginning of the other.

    "In Lisbon the user works" says what "The user works in Lisbon" says.
    """
    said, repeated = meant_words(one), meant_words(other)
    return len(said) == len(repeated) and any(said[at:] + said[:at] == repeated for at in range(len(said)))


def differ_in_order(one: str, other: str) -> bool:
    """Whether two texts have the same words, and say them in another order: "Ana owes Tom" and "Tom owes Ana"."""
    return sorted(meant_words(one)) == sorted(meant_words(other)) and not say_the_same(one, other)
