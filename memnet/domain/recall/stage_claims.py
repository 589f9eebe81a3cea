"""The stage `claims`: weigh what several claimants contradict, by age and by confidence."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations

from memnet.domain.catalog.recall_rules import Claims
from memnet.domain.documents.claim import Claim
from memnet.domain.history.statements import EntryState
from memnet.domain.recall.candidate import Candidate, Question
from memnet.domain.recall.importance import days_since, moment
from memnet.domain.recall.ranking import Ranking, Scored, best_first

UNKNOWN = 0.5
"""The confidence of a claim that has none."""


@dataclass(frozen=True, slots=True)
class _Side:
    """The claims about one thing that say the same: they are as new and as sure as the best of them."""

    candidates: Sequence[Candidate]
    newest: datetime | None
    sure: float


def claims(rule: Claims, ranking: Ranking, _question: Question, _rankers: object) -> Ranking:
    """Multiply the scores of disputed statements by their weights, and mark them as disputed.

    A statement is disputed if another claimant says something else about the same thing, both open. Every gathered
    statement counts, found or not. `known` writes by the same weights.
    """
    weights = {key: weight for sides in _disputes(ranking.gathered) for key, weight in _weights(rule, sides)}
    weighed = [_weighed(one, weights, rule.stage) for one in ranking.ranked]
    return replace(ranking.with_ranked(best_first(weighed), rule.stage), disputed=weights)


def _weighed(one: Scored, weights: dict[str, float], stage: str) -> Scored:
    weight = weights.get(one.candidate.key)
    if weight is None:
        return one
    return Scored(one.candidate, one.score * weight, {**one.parts, stage: one.score * (weight - 1)})


def _disputes(gathered: Sequence[Candidate]) -> Iterable[list[_Side]]:
    """Yield, for each thing that is disputed, what is said about it, side by side."""
    things: dict[object, list[tuple[Claim, Candidate]]] = defaultdict(list)
    for one in gathered:
        if one.claim is not None and one.place is not None and one.state is EntryState.OPEN:
            place = one.place.namespace, one.place.path, one.place.section
            things[place, one.claim.about].append((one.claim, one))
    for said in things.values():
        if any(one.contradicts(other) for (one, _), (other, _) in combinations(said, 2)):
            sides: dict[str, list[tuple[Claim, Candidate]]] = defaultdict(list)
            for claim, candidate in said:
                sides[claim.value].append((claim, candidate))
            yield [_side(side) for side in sides.values()]


def _side(said: Sequence[tuple[Claim, Candidate]]) -> _Side:
    times = [time for claim, _ in said if (time := moment(claim.at or None)) is not None]
    sure = max(UNKNOWN if one.confidence is None else one.confidence for _, one in said)
    return _Side([candidate for _, candidate in said], max(times, default=None), sure)


def _weights(rule: Claims, sides: Sequence[_Side]) -> Iterable[tuple[str, float]]:
    newest = max((side.newest for side in sides if side.newest is not None), default=None)
    surest = max(side.sure for side in sides)
    for side in sides:
        age = 0.0 if newest is None else days_since(side.newest, newest)
        part = side.sure / surest if surest else 1.0
        weight = 0.5 ** (age / rule.half_life_days) * (1 - rule.share + rule.share * part)
        for candidate in side.candidates:
            yield candidate.key, weight
