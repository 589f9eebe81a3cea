"""The sessions of candidates: which were said together, and in which order."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from memnet.domain.core.timestamps import from_text
from memnet.domain.recall.bm25 import Array
from memnet.domain.recall.candidate import Candidate, CandidateKind

Numbers = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Sessions:
    """By the number of each candidate: its session, and the candidates before and after it, -1 if there is none."""

    of: Numbers
    previous: Numbers
    next: Numbers

    def before(self, values: Array) -> Array:
        """Return the values of the candidates before; 0 where there is none."""
        return _taken(values, self.previous)

    def after(self, values: Array) -> Array:
        """Return the values of the candidates after; 0 where there is none."""
        return _taken(values, self.next)

    def total(self, values: Array) -> Array:
        """Return the sum of the values of each session, by its number."""
        found = np.zeros((self.count, *values.shape[1:]))
        np.add.at(found, self.of, values)
        return found

    def best(self, values: Array, most: int) -> Array:
        """Return the mean of the `most` best values of its session, for each candidate."""
        order = np.lexsort((-values, self.of))
        sorted_of = self.of[order]
        place = np.arange(len(order)) - np.searchsorted(sorted_of, sorted_of)
        among = np.zeros(len(values))
        among[order[place < most]] = 1.0
        best: Array = (self.total(values * among) / self.total(among))[self.of]
        return best

    @property
    def count(self) -> int:
        """How many sessions there are."""
        return int(self.of.max()) + 1 if self.of.size else 0


def sessions_of(candidates: Sequence[Candidate], gap: timedelta) -> Sessions:
    """Return the sessions: messages or events of one conversation without a gap in time. Entries are alone."""
    said: dict[tuple[CandidateKind, str], list[tuple[str, int, str, int]]] = defaultdict(list)
    for number, one in enumerate(candidates):
        if one.kind is not CandidateKind.ENTRY and one.conversation_id is not None:
            said[one.kind, one.conversation_id].append((one.said_at or "", one.ordinal, one.key, number))
    # Each is a session of its own until it follows another one.
    of, previous, following = [*range(len(candidates))], [-1] * len(candidates), [-1] * len(candidates)
    for messages in said.values():
        messages.sort()
        for (earlier, _, _, last), (later, _, _, number) in pairwise(messages):
            if not earlier or not later or _moment(later) - _moment(earlier) <= gap:
                of[number], previous[number], following[last] = of[last], last, number
    _, numbered = np.unique(of, return_inverse=True)
    return Sessions(numbered.astype(np.intp), np.array(previous, dtype=np.intp), np.array(following, dtype=np.intp))


@lru_cache(maxsize=16_384)
def _moment(text: str) -> datetime:
    return from_text(text)


def _taken(values: Array, numbers: Numbers) -> Array:
    taken: Array = values[numbers]
    taken[numbers < 0] = 0
    return taken
