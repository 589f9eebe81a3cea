"""The inverted index of one searchable field, with Lucene's BM25.

The score of a term in a document is

    ln(1 + (N - n + 0.5) / (n + 0.5)) * f * (k1 + 1) / (f + k1 * (1 - b + b * length / average))

with N the documents that have the field, n those with the term, f its occurrences in this one. Lucene 8 left the
constant factor (k1 + 1) out; scores that Azure returns still have it (a single hit in a single document of average
length scores ln(4/3) = 0.2876821). Lucene rounds lengths above 40 to one byte; here they are exact.
"""

import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from local.emulators.search.analysis import lower, terms
from local.emulators.search.columns import GrowingArray, Mask, Rows
from local.emulators.search.limits import K1, B

_GAP: Final = 0xFFFFFFFF
"""The gap between the values of a collection, so that no phrase spans two of them."""

Scores = NDArray[np.float64]
_NOTHING: Final[tuple[Rows, Scores]] = (np.zeros(0, dtype=np.int64), np.zeros(0))


class _Numbered(dict[str, int]):
    """Numbers its keys in the order in which they are first asked for with []; `get` asks without numbering."""

    def __missing__(self, key: str) -> int:
        number = len(self)
        self[key] = number
        return number


class TextIndex:
    """The terms of one field."""

    def __init__(self) -> None:
        """An empty index."""
        self._terms = _Numbered()
        self._sorted: list[str] = []
        self._rows: list[array[int]] = []
        self._frequencies: list[array[int]] = []
        self._document_frequency: list[int] = []
        self._tokens: list[array[int]] = []
        self._lengths = GrowingArray(np.int64)
        self._documents = 0
        self._total_length = 0

    def add(self, values: Iterable[str]) -> None:
        """Add the next row; no values for null."""
        tokens = array("I")
        for value in values:
            if tokens:
                tokens.append(_GAP)
            tokens.extend([self._terms[term] for term in terms(value)])
        row = len(self._tokens)
        self._make_room()
        counts = Counter(tokens)
        counts.pop(_GAP, None)
        for number, count in counts.items():
            self._rows[number].append(row)
            self._frequencies[number].append(count)
            self._document_frequency[number] += 1
        length = sum(counts.values())
        self._tokens.append(tokens)
        self._lengths.append(length)
        self._documents += length > 0
        self._total_length += length

    def remove(self, row: int) -> None:
        """Take a row out of the statistics; the caller keeps it out of every mask."""
        tokens = self._tokens[row]
        for number in set(tokens) - {_GAP}:
            self._document_frequency[number] -= 1
        length = int(self._lengths.view()[row])
        self._documents -= length > 0
        self._total_length -= length
        self._tokens[row] = array("I")

    def match_term(self, term: str, allowed: Mask) -> tuple[Rows, Scores]:
        """Return the allowed rows with the term, and their scores."""
        number = self._terms.get(term)
        if number is None:
            return _NOTHING
        rows = np.frombuffer(self._rows[number], dtype=np.int64)
        frequencies = np.frombuffer(self._frequencies[number], dtype=np.int64)
        kept = allowed[rows]
        return self._scored(rows[kept], frequencies[kept], self._weight(number))

    def match_phrase(self, phrase: Sequence[str], allowed: Mask) -> tuple[Rows, Scores]:
        """Return the allowed rows where the terms of the phrase stand side by side, scored as one rare term."""
        numbers = [self._terms.get(term) for term in phrase]
        known = [number for number in numbers if number is not None]
        if len(known) < len(numbers) or not known:
            return _NOTHING
        candidates = allowed.copy()
        for number in set(known):
            has_term = np.zeros(len(allowed), dtype=np.bool_)
            has_term[np.frombuffer(self._rows[number], dtype=np.int64)] = True
            candidates &= has_term
        encoded = array("I", known).tobytes()
        hits = ((row, _count(self._tokens[row], encoded)) for row in np.flatnonzero(candidates).tolist())
        found = [(row, count) for row, count in hits if count]
        if not found:
            return _NOTHING
        rows, counts = np.array(found, dtype=np.int64).T
        return self._scored(rows, counts, sum(map(self._weight, known)))

    def match_prefix(self, prefix: str, allowed: Mask) -> tuple[Rows, Scores]:
        """Return the allowed rows with a term that begins so, each with score 1."""
        wanted = lower(prefix)  # a prefix is not broken into words
        if len(self._sorted) < len(self._terms):
            self._sorted = sorted(self._terms)
        mask = np.zeros(len(allowed), dtype=np.bool_)
        for position in range(bisect_left(self._sorted, wanted), len(self._sorted)):
            if not self._sorted[position].startswith(wanted):
                break
            mask[np.frombuffer(self._rows[self._terms[self._sorted[position]]], dtype=np.int64)] = True
        rows = np.flatnonzero(mask & allowed)
        return rows, np.ones(len(rows))

    def _make_room(self) -> None:
        """Begin the lists of the terms that are new."""
        for _ in range(len(self._rows), len(self._terms)):
            self._rows.append(array("q"))
            self._frequencies.append(array("q"))
            self._document_frequency.append(0)

    def _weight(self, number: int) -> float:
        """Return the inverse document frequency."""
        having = self._document_frequency[number]
        return math.log(1 + (self._documents - having + 0.5) / (having + 0.5))

    def _scored(self, rows: Rows, frequencies: NDArray[np.int64], weight: float) -> tuple[Rows, Scores]:
        if not len(rows):
            return _NOTHING
        average = self._total_length / self._documents
        lengths = self._lengths.view()[rows]
        saturation = K1 * (1 - B + B * lengths / average)
        return rows, weight * frequencies * (K1 + 1) / (frequencies + saturation)


def _count(tokens: "array[int]", phrase: bytes) -> int:
    """Count where the phrase begins in the tokens; both are compared as bytes, which is what makes it fast."""
    text, size = tokens.tobytes(), tokens.itemsize
    count, start = 0, text.find(phrase)
    while start >= 0:
        count += start % size == 0
        start = text.find(phrase, start + 1)
    return count
