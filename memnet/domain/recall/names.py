"""The names that candidates bear: what statements are about, what they state, and who or what else is mentioned.

Two candidates that bear a name are linked by it; no link is stored. Names are compared as recall compares words.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from memnet.domain.core.words import words
from memnet.domain.recall.candidate import Candidate, CandidateKind

Name = tuple[str, ...]
LONGEST = 4
"""A value of more words is a description and no name."""
_NONE: frozenset[Name] = frozenset()


def name_of(text: str | None) -> Name:
    """Return the words of a name; empty: it has none."""
    return tuple(words(text)) if text else ()


def names_of(candidates: Sequence[Candidate]) -> Mapping[str, frozenset[Name]]:
    """Return by key the names that each candidate bears; a candidate without one is absent.

    The names are the subjects of statements, their short values, and entities. An entry bears those of its own, and
    those that its value contains; an event or a turn those that its text contains.
    """
    said = {one.key: _said(one) for one in candidates}
    own = {one.key: _own(one, said[one.key]) for one in candidates}
    known = set[Name]().union(*own.values())
    if not known:
        return {}
    lengths: dict[str, set[int]] = defaultdict(set)
    for name in known:
        lengths[name[0]].add(len(name))
    begins = frozenset(lengths)
    found = {
        key: own[key] if begins.isdisjoint(text) else own[key].union(_within(text, lengths) & known)
        for key, text in said.items()
    }
    return {key: names for key, names in found.items() if names}


def _said(candidate: Candidate) -> Name:
    if candidate.kind is CandidateKind.ENTRY:
        return name_of(candidate.stated)
    return name_of(candidate.text) if candidate.attributes else candidate.terms.words


def _own(candidate: Candidate, said: Name) -> frozenset[Name]:
    value = said if candidate.kind is CandidateKind.ENTRY and len(said) <= LONGEST else ()
    if not value and not candidate.subject and not candidate.entities:
        return _NONE
    return frozenset(filter(None, (name_of(candidate.subject), value, *map(name_of, candidate.entities))))


def _within(said: Name, lengths: Mapping[str, Collection[int]]) -> set[Name]:
    """Return what may be a name: the words from each that begins a name, as many as such a name has."""
    return {said[n : n + length] for n, word in enumerate(said) if word in lengths for length in lengths[word]}
