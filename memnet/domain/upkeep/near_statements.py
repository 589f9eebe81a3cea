"""Which open statements say the same in other words, though they are about different things.

Nearness of meaning is not enough: "likes tea" and "does not like tea" are near. So statements are compared by their
words as well: closely where they become one without a question, and loosely where a model is asked whether they say the
same.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.scope import Json
from memnet.domain.core.text import fold, names, normalize
from memnet.domain.core.words import STOP_WORDS, plain_words, stem, words
from memnet.domain.documents.entry import confidence_of, is_open
from memnet.domain.documents.statement import (
    Entry,
    confirmed_by,
    kept_members,
    newest,
    statements_of,
    thing_of,
    value_of,
)
from memnet.domain.upkeep.same_words import differ_in_order, meant_words, say_the_same
from memnet.domain.upkeep.turning_words import are_opposite, turning_words, words_of

MAX_COMPARED: Final = 500
"""The most statements of a section that are compared with each other, the surest ones."""
DECIMALS: Final = 6
_ARTICLES: Final = frozenset({*STOP_WORDS, "der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "einem"})
"""First words that are no names."""
Array = NDArray[np.float64]
Vectors = Mapping[str, Sequence[float]]
"""The vectors of texts, of length 1."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Statements of one section, by position: the one that stays, and those that it repeats, in their order."""

    stays: int
    others: tuple[int, ...]


def text_of_statement(entry: Entry, rule: SectionUpkeep) -> str:
    """Return what a statement says as a text: its own, or what it is about and its value if its own says no more."""
    statements, text = statements_of(rule), entry.get(rule.text_field)
    value = _words_of(entry, statements.value_field)
    if isinstance(text, str) and text.strip() and not set(plain_words(text)).issubset(plain_words(value)):
        return text
    return " ".join(found for name in (*statements.about, statements.value_field) if (found := _words_of(entry, name)))


def texts_to_compare(entries: Sequence[Json], rule: SectionUpkeep, protected: Collection[bytes]) -> list[str]:
    """Return the texts whose meaning `find_clusters` needs, each once."""
    blocks = _blocks(entries, rule, protected).values()
    comparable = [place for block in blocks if len(block) > 1 for place in block]
    return sorted({text_of_statement(entries[place], rule) for place in comparable})


def find_clusters(
    entries: Sequence[Json],
    rule: SectionUpkeep,
    protected: Collection[bytes],
    vectors: Vectors | None,
    *,
    is_judged: bool = False,
) -> list[Cluster]:
    """Return the clusters of a section whose rule consolidates.

    The surest statement takes all those near it that it repeats; of the others the surest does the same, and so on. So
    each statement is near the one that stays, and the result depends on no order of the entries. `protected` entries,
    in canonical form, are left out. Without `vectors` the words are compared. `is_judged`: a model is asked whether the
    statements of each cluster say the same.
    """
    assert rule.consolidate is not None
    found = []
    for block in _blocks(entries, rule, protected).values():
        near = _nearness([text_of_statement(entries[place], rule) for place in block], vectors)
        taken: set[int] = set()
        for at, stays in enumerate(block):
            if at in taken:
                continue
            others = [
                other
                for other in range(at + 1, len(block))
                if other not in taken
                and near[at, other] >= rule.consolidate.above
                and repeats(entries[stays], entries[block[other]], rule, is_judged=is_judged)
            ]
            if others:
                taken |= set(others)
                found.append(Cluster(stays, tuple(block[other] for other in others)))
    return found


def repeats(kept: Entry, other: Entry, rule: SectionUpkeep, *, is_judged: bool = False) -> bool:
    """Whether a statement says everything that another one does, about something else.

    `is_judged`: whether it is worth asking a model. Otherwise their texts must have the same words.
    """
    if thing_of(kept, rule) == thing_of(other, rule) or not confirmed_by(other, rule) <= confirmed_by(kept, rule):
        return False
    if _other_members(kept, rule) != _other_members(other, rule):
        return False
    said, repeated = _said(kept, rule), _said(other, rule)
    if turning_words(said) != turning_words(repeated) or are_opposite(said, repeated):
        return False
    texts = text_of_statement(kept, rule), text_of_statement(other, rule)
    if not _states(kept, other, said, rule):
        return False
    return may_say_the_same(*texts) if is_judged else say_the_same(*texts)


def may_say_the_same(one: str, other: str) -> bool:
    """Whether two texts that are near are worth asking a model about."""
    return have_the_same_names(one, other) and not differ_in_order(one, other)


def have_the_same_names(one: str, other: str) -> bool:
    """Whether two texts have the same numbers and signs, and every name in one of them occurs in the other."""
    return _marks(one) == _marks(other) and _names(one).issubset(fold(other)) and _names(other).issubset(fold(one))


def _marks(text: str) -> frozenset[str]:
    """Return the words of a text that are not of letters alone, such as "12", "-5", "5%" and "€"."""
    return frozenset(word for word in normalize(text).split() if not word.isalpha())


def _names(text: str) -> frozenset[str]:
    """Return the names in a text, word by word; the first word is one unless it is common."""
    found = {word for name in names(text) for word in fold(name)}
    return frozenset(found | ({*fold(text)[:1]} - _ARTICLES if text[:1].isupper() else set()))


def surest_first(entry: Entry, rule: SectionUpkeep) -> tuple[float, int, str]:
    """Return the sort key of statements: the surest first, then the newest, then by id."""
    sure, at = confidence_of(entry, rule), newest(entry, rule)
    since = int("".join(character for character in at if character.isdigit()) or 0)
    return -(1.0 if sure is None else sure), -since, str(entry[rule.id_field])


def _blocks(
    entries: Sequence[Json], rule: SectionUpkeep, protected: Collection[bytes]
) -> Mapping[str | None, list[int]]:
    """Return the positions of the open statements with an id of their own, by whom or what they are about."""
    ids: dict[str, int] = defaultdict(int)
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get(rule.id_field), str):
            ids[entry[rule.id_field]] += 1
    usable = [
        place
        for place, entry in enumerate(entries)
        if isinstance(entry, dict)
        and is_open(entry, rule)
        and ids.get(str(entry.get(rule.id_field))) == 1
        and canonical(entry) not in protected
        and words(text_of_statement(entry, rule))
    ]
    usable.sort(key=lambda place: surest_first(entries[place], rule))
    blocks: dict[str | None, list[int]] = defaultdict(list)
    for place in usable[:MAX_COMPARED]:
        subject = thing_of(entries[place], rule)[0][0]
        if subject is not None:
            blocks[subject].append(place)
    return blocks


def _nearness(texts: Sequence[str], vectors: Vectors | None) -> Array:
    """Return the nearness of each pair of texts: the cosine, or the share of words that both have of those of either.

    Cosines are rounded, so that they do not depend on the order in which products are added.
    """
    if vectors is not None:
        rows = np.array([np.asarray(vectors[text], dtype=np.float64) for text in texts])
        cosines: Array = np.round(np.einsum("ik,jk->ij", rows, rows), DECIMALS)
        return cosines
    known = [frozenset(map(stem, meant_words(text))) for text in texts]
    shares = [[len(one & other) / (len(one | other) or 1) for other in known] for one in known]
    return np.array(shares, dtype=np.float64)


def _other_members(entry: Entry, rule: SectionUpkeep) -> bytes:
    """Return the members that must be equal: all but text, subject, value, origin, importance and time.

    What different people claim never becomes one.
    """
    statements = statements_of(rule)
    left_out = {
        *(name for name in statements.about if name != statements.claimed_by_field),
        *kept_members(rule),
        *rule.usual_fields,
        *(rule.importance_field, statements.value_field),
    }
    return canonical({name: value for name, value in entry.items() if name not in left_out and value is not None})


def _said(entry: Entry, rule: SectionUpkeep) -> str:
    """Return all that a statement says: its text, what it is about, and its value."""
    statements = statements_of(rule)
    parts = [text_of_statement(entry, rule), *(_words_of(entry, name) for name in statements.about)]
    return " ".join([*parts, _words_of(entry, statements.value_field)])


def _words_of(entry: Entry, name: str) -> str:
    value = entry.get(name)
    return value if isinstance(value, str) else ""


def _states(kept: Entry, other: Entry, said: str, rule: SectionUpkeep) -> bool:
    """Whether all words and numbers of the other one's value are among those of the one that is kept, `said`."""
    value = statements_of(rule).value_field
    stated = other.get(value)
    if not isinstance(stated, str):
        return value_of(kept, rule) == value_of(other, rule)
    known = set(map(stem, words_of(said)))
    wanted = words(stated) or [stem(word) for word in plain_words(stated)]
    return isinstance(kept.get(value), str) and all(word in known for word in wanted)
