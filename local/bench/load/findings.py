"""What the measurements say: where the knee is, what the limit is, whether memory grows, what is left to fail."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

GAIN = 1.1
"""Twice the clients have to bring at least this much more, or it is no use."""
JUMP = 4.0
"""Four times the p95 at twice the clients is a queue, not work."""
FULL = 0.85
"""A core that is busy for so much of the time has nothing left to give."""
FOREIGN = 0.25
"""With more of a full machine in other hands, what was measured is them."""
OBJECTIVE = 0.999
"""The share of requests that are to be answered as they should be."""


@dataclass(frozen=True)
class Step:
    """One step of the search for the knee."""

    clients: int
    throughput: float
    p95: float
    cores: Mapping[str, float]
    """How many cores each process kept busy."""


def is_over(steps: Sequence[Step]) -> bool:
    """Whether two steps in a row brought nothing any more; one may be an accident."""
    return len(steps) > 2 and not any(_is_worth(steps, number) for number in range(len(steps) - 2, len(steps)))


def knee(steps: Sequence[Step]) -> Step:
    """The last step that was worth it."""
    return steps[max(number for number in range(len(steps)) if _is_worth(steps, number))]


def _is_worth(steps: Sequence[Step], number: int) -> bool:
    """Whether throughput still grew, beyond the best before, and the p95 did not jump."""
    if number == 0:
        return True
    best = max(step.throughput for step in steps[:number])
    return steps[number].throughput >= best * GAIN and steps[number].p95 <= steps[number - 1].p95 * JUMP


def limit(cores: Mapping[str, float], available: int, others: str) -> str:
    """Say which part is the limit, by the cores each kept busy out of those `available`; `others` names the rest."""
    busiest = max((name for name in cores if name != others), key=lambda name: cores[name])
    total = sum(cores.values())
    if cores[busiest] >= FULL:
        return f"{busiest}: it keeps one core busy ({cores[busiest]:.2f}), and runs on one"
    if total >= FULL * available:
        if cores.get(others, 0) > FOREIGN * available:
            return f"{others}: they take {cores[others]:.2f} of {available} cores; measure on one that is idle"
        most = f"mostly with {busiest} ({cores[busiest]:.2f})"
        return f"the machine: its {available} cores are busy ({total:.2f}), {most}"
    return f"no processor: {total:.2f} of {available} cores are busy; the parts wait for each other or for the disk"


@dataclass(frozen=True)
class Budget:
    """The requests that may fail, and those that did."""

    requests: int
    failed: int

    @property
    def allowed(self) -> float:
        """How many may fail."""
        return self.requests * (1 - OBJECTIVE)

    @property
    def used(self) -> float:
        """The share of the budget that is gone; above 1 the objective was missed."""
        return self.failed / self.allowed if self.allowed else 0.0


def growth(samples: Sequence[int]) -> int:
    """How much more the last third has than the third in the middle, by their medians.

    The first third fills the caches, which are bounded.
    """
    third = len(samples) // 3
    if third == 0:
        return 0
    return round(median(samples[-third:]) - median(samples[third : 2 * third]))
