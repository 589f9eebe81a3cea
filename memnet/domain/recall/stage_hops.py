"""The stage `hops`: add what the best candidates lead to."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from memnet.domain.catalog.recall_rules import Hops
from memnet.domain.core.words import words
from memnet.domain.history.statements import EntryState
from memnet.domain.recall.candidate import Candidate, CandidateKind, Question
from memnet.domain.recall.names import Name, name_of, names_of
from memnet.domain.recall.ranking import Ranking, Scored, best_first

BROAD = 10
"""A name is broad if more statements are about it. Alone, it does not link them."""


def hops(rule: Hops, ranking: Ranking, question: Question, _rankers: object) -> Ranking:
    """Add what the best `seeds` lead to in up to `most` steps; step n gets the seed's score times `factor` to the n.

    A step leads from a statement to those that are about one of its names, and to those that name it. A name is broad
    if many statements are about it, or if none names it ("user"): it leads only to those that share a word with the
    question. So does every name to events and turns. A seed keeps its score; what is ranked lower than its hop rises.
    """
    graph = _Graph(ranking.gathered, question)
    found: dict[str, float] = {}
    seeds = ranking.ranked[: rule.seeds]
    for seed in seeds:
        for step, keys in enumerate(graph.steps(seed.candidate.key, rule.most), 1):
            for key in keys:
                found[key] = max(found.get(key, 0.0), seed.score * rule.factor**step)
    for seed in seeds:
        found.pop(seed.candidate.key, None)
    known = {one.candidate.key: one for one in ranking.ranked}
    for key, score in found.items():
        before = known.get(key)
        if before is None or before.score < score:
            parts = {} if before is None else before.parts
            known[key] = Scored(graph.candidates[key], score, {**parts, rule.stage: score})
    return ranking.with_ranked(best_first(list(known.values())), rule.stage)


class _Graph:
    """The links between the gathered candidates."""

    def __init__(self, gathered: Sequence[Candidate], question: Question) -> None:
        sure = [one for one in gathered if one.state is not EntryState.WAITING]
        self.candidates: Mapping[str, Candidate] = {one.key: one for one in sure}
        self._names = names_of(sure)
        self._asked = frozenset(words(question.text))
        self._links: dict[Name, Sequence[str]] = {}
        self._about: dict[Name, list[str]] = defaultdict(list)
        self._naming: dict[Name, list[str]] = defaultdict(list)
        for key, names in self._names.items():
            subject = name_of(self.candidates[key].subject)
            for name in names:
                (self._about if name == subject else self._naming)[name].append(key)

    def steps(self, start: str, most: int) -> list[set[str]]:
        """Return the keys first reached by one step, by two, and so on."""
        reached, front, found = {start}, {start}, []
        names: set[Name] = set()
        for _ in range(most):
            new = {name for key in front for name in self._names.get(key, ())} - names
            front = {key for name in new for key in self._linked(name)} - reached
            names |= new
            reached |= front
            found.append(front)
        return found

    def _linked(self, name: Name) -> Sequence[str]:
        """Return what is about the name, and what names it."""
        if name not in self._links:
            about, naming = self._about[name], self._naming[name]
            is_stated = any(self.candidates[key].kind is CandidateKind.ENTRY for key in naming)
            self._links[name] = [
                *self._narrowed(name, about, is_broad=len(about) > BROAD or not is_stated),
                *self._narrowed(name, naming, is_broad=len(naming) > BROAD),
            ]
        return self._links[name]

    def _narrowed(self, name: Name, keys: Sequence[str], *, is_broad: bool) -> Iterator[str]:
        asked = self._asked.difference(name)
        for key in keys:
            is_linked = not is_broad and self.candidates[key].kind is CandidateKind.ENTRY
            if is_linked or not asked.isdisjoint(self.candidates[key].terms.counts):
                yield key
