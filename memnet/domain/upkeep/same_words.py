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
_EMPTY: Final = "a | an | the | is where | is what | is who | the city of | the town of"
"""Words that add nothing. "of", "by", "in", "was" and German articles are none: "Ana was hired by Tom" is not "Ana
hired Tom", "is in two weeks" not "is two weeks", and "der Hund" bites where "den Hund" is bitten."""
_COPULAS: Final = frozenset({"is", "are", "ist", "sind"})
"""Words that may be at another place ("Ana is the boss", "the boss is Ana"), but not missing: who "is paid" was not who
"paid"."""
_FIXED: Final = frozenset(
    {
        *(
            "no",
            "not",
            "never",
            "none",
            "nothing",
            "without",
            "cannot",
            "only",
            "just",
            "even",
            "also",
            "except",
            "but",
        ),
        *("instead", "rather", "neither", "nor", "nicht", "nie", "niemals", "kein", "keine", "keinen", "keinem"),
        *("keiner", "keines", "ohne", "nur", "auch", "sogar", "ausser", "aber", "sondern"),
    }
)
"""Words whose place says what they are about: "only the user eats fish", "the user eats fish only"."""
_CLAUSE_END: Final = re.compile(r"[.,;:!?\N{EN DASH}\N{EM DASH}](?=\s)|\n")
_LETTER: Final = re.compile(r"(?<=[^.!?\s]\s)(?:[A-Z](?!\w)|a(?=$|[.,;:!?]))")
"""A letter that is a name and no article: "vitamin A"."""
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
    return tuple(word for word in _words(text) if word not in _COPULAS)


def say_the_same(one: str, other: str) -> bool:
    """Whether two texts have the same words in the same order. The end of one may be the beginning of the other.

    "In Lisbon the user works" says what "The user works in Lisbon" says.
    """
    said, repeated = meant_words(one), meant_words(other)
    if _letters(one) != _letters(other) or _copulas(one) != _copulas(other):
        return False
    return said == repeated or any(
        _ends_clauses(one) <= {at} and _ends_clauses(other) <= {len(said) - at}
        for at in _turns(said, repeated)
        if not _FIXED.intersection(said)
    )


def differ_in_order(one: str, other: str) -> bool:
    """Whether two texts have the same words, and say them in another order: "Ana owes Tom" and "Tom owes Ana"."""
    said, repeated = meant_words(one), meant_words(other)
    return sorted(said) == sorted(repeated) and not _turns(said, repeated)


def _words(text: str) -> list[str]:
    return _PHRASE.sub(lambda match: _PHRASES[match.group()], normalize(text)).split()


def _turns(said: tuple[str, ...], repeated: tuple[str, ...]) -> list[int]:
    """Return how many words of the one could be its beginning and the end of the other."""
    is_as_long = len(said) == len(repeated)
    return [at for at in range(len(said)) if is_as_long and said[at:] + said[:at] == repeated]


def _ends_clauses(text: str) -> set[int]:
    """Return after how many words of a text a clause ends: "milk yes, sugar no" is not "no milk, yes sugar"."""
    found, count = set(), 0
    for clause in _CLAUSE_END.split(text.strip())[:-1]:
        count += len(meant_words(clause))
        found.add(count)
    return found


def _copulas(text: str) -> int:
    return sum(word in _COPULAS for word in _words(text))


def _letters(text: str) -> list[str]:
    return sorted(letter.lower() for letter in _LETTER.findall(text))
