"""BM25 with the statistics of the given texts alone (Robertson and Zaragoza, 2009)."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memnet.domain.core.terms import Terms

Array = NDArray[np.float64]


def counts(wanted: Sequence[str], texts: Sequence[Mapping[str, int]]) -> Array:
    """Return how often each text, given as the counts of its words, has each wanted word: a row for each text."""
    found = np.zeros((len(texts), len(wanted)))
    for column, word in enumerate(wanted):
        found[:, column] = [text.get(word, 0) for text in texts]
    return found


def rarity(found: Array) -> Array:
    """Return how rare each wanted word is: ln(1 + (N - n + 0.5) / (n + 0.5)), where n of N texts have it."""
    total, holders = len(found), (found > 0).sum(axis=0)
    rare: Array = np.log(1 + (total - holders + 0.5) / (holders + 0.5))
    return rare


def bm25(query: Sequence[str], texts: Sequence[Terms], k1: float, b: float) -> Array:
    """Score texts for the words of a query; 0: no word in common."""
    lengths = np.array([len(text.words) for text in texts], dtype=np.float64)
    return scores_of(counts(sorted(set(query)), [text.counts for text in texts]), lengths, k1, b)


def scores_of(found: Array, lengths: Array, k1: float, b: float) -> Array:
    """Score texts by their counts of the wanted words, and their lengths in words."""
    if not found.size:
        return np.zeros(len(found))
    average = lengths.mean() if lengths.any() else 1.0
    norm = k1 * (1 - b + b * lengths / average)
    scores: Array = (rarity(found) * found * (k1 + 1) / (found + norm[:, None] + (found == 0))).sum(axis=1)
    return scores


def stretched(scores: Array) -> Array:
    """Return the scores as shares of their range, 0..1; if they are all the same, 1 for those above 0."""
    if not scores.size:
        return scores
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else (scores > 0).astype(np.float64)
