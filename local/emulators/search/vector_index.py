"""The vectors of one field, searched exactly."""

from typing import Final

import numpy as np

from local.emulators.search.columns import GrowingArray, Mask, Rows
from local.emulators.search.text_index import Scores
from local.emulators.search.values import Vector

_DIGITS: Final = 6
"""Beyond these a product of single precision depends on the vector's row in the matrix."""


class VectorIndex:
    """Keeps the vectors in one matrix; a document without one takes no place in it."""

    def __init__(self, dimensions: int) -> None:
        """All vectors have this length."""
        self._matrix = np.zeros((64, dimensions), dtype=np.float32)
        self._norms = GrowingArray(np.float64)
        self._rows = GrowingArray(np.int64)
        self._position: dict[int, int] = {}

    def add(self, row: int, vector: Vector) -> None:
        """Keep the vector of a row."""
        position = len(self._rows)
        if position == len(self._matrix):
            self._matrix = np.concatenate([self._matrix, np.zeros_like(self._matrix)])
        self._matrix[position] = vector
        self._norms.append(_norm(vector))
        self._rows.append(row)
        self._position[row] = position

    def get(self, row: int) -> Vector | None:
        """Return the vector of a row, if it has one."""
        position = self._position.get(row)
        return None if position is None else self._matrix[position].copy()

    def nearest(self, vector: Vector, k: int, allowed: Mask) -> tuple[Rows, Scores]:
        """Return the k nearest allowed rows by cosine, best first, the earlier row first among equals.

        The score is Azure's 1 / (1 + (1 - cosine)).
        """
        rows = self._rows.view()
        positions = np.flatnonzero(allowed[rows])
        matrix = self._matrix[: len(rows)]
        few = len(positions) * 2 < len(rows)
        products = np.take(matrix, positions, axis=0) @ vector if few else (matrix @ vector)[positions]
        cosines = products / (self._norms.view()[positions] * _norm(vector))
        cosines = np.clip(cosines.round(_DIGITS), -1.0, 1.0)
        best = best_first(cosines, rows[positions], k)
        return rows[positions][best], 1.0 / (2.0 - cosines[best])


def best_first(scores: Scores, rows: Rows, count: int) -> Rows:
    """Return the positions of the `count` highest scores, best first, the earlier row first among equals."""
    if 0 < count < len(scores):
        threshold = np.partition(scores, len(scores) - count)[len(scores) - count]
        candidates = np.flatnonzero(scores >= threshold)
    else:
        candidates = np.arange(len(scores))
    order = np.lexsort((rows[candidates], -scores[candidates]))
    return candidates[order][:count]


def _norm(vector: Vector) -> float:
    return float(np.linalg.norm(vector.astype(np.float64)))
