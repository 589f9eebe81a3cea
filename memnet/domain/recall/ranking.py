"""A ranking: what the stages of a pipeline pass on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memnet.domain.catalog.recall_rules import Known, Recent, Relevant
from memnet.domain.recall.candidate import Candidate


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with its score, and what the score is made of, by name."""

    candidate: Candidate
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)
    disputed: bool = False
    """Of a result: whether another claimant says something else about the same."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A candidate that is not in the answer, and why: the name of a stage, or `budget`."""

    candidate: Candidate
    reason: str
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Group:
    """Results that are written together, best first, in a share of the tokens. What is left spills to the next."""

    name: str
    """The stage: known, relevant or recent."""
    heading: str
    share: float
    items: Sequence[Scored]


@dataclass(frozen=True, slots=True)
class Trace:
    """What a stage returned: its ranking, best first. For `debug`."""

    stage: str
    ranked: Sequence[Scored]
    left_out: Sequence[LeftOut]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The candidates gathered, those ranked so far, best first, those left out, and the groups to be written."""

    gathered: Sequence[Candidate]
    ranked: Sequence[Scored] = ()
    left_out: Sequence[LeftOut] = ()
    groups: Sequence[Group] = ()
    disputed: Mapping[str, float] = field(default_factory=dict)
    """The weights of the statements that another claimant contradicts, by key."""

    def with_ranked(self, ranked: Sequence[Scored], reason: str) -> "Ranking":
        """Return the ranking with `ranked`; those it had and that are not in it are left out for `reason`."""
        kept = {scored.candidate.key for scored in ranked}
        gone = [LeftOut(s.candidate, reason, s.score) for s in self.ranked if s.candidate.key not in kept]
        left = [one for one in self.left_out if one.candidate.key not in kept]
        return replace(self, ranked=tuple(ranked), left_out=(*left, *gone))

    def with_group(self, rule: Known | Relevant | Recent, items: Sequence[Scored]) -> "Ranking":
        """Return the ranking with one more group, the last one to be written."""
        return replace(self, groups=(*self.groups, Group(rule.stage, rule.heading, rule.share, items)))


def best_first(scored: Iterable[Scored]) -> list[Scored]:
    """Return them by score, highest first, and by key."""
    return sorted(scored, key=lambda one: (-one.score, one.candidate.key))
