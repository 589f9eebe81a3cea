"""Reciprocal rank fusion, as Azure documents it: every list adds weight / (60 + rank) to its documents.

Rank counts from 0: the best score of one list is 1/60 = 0.016667, and a document that leads both lists of a hybrid
query has the 0.033333 that Azure returns.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np

from local.emulators.search.columns import Rows
from local.emulators.search.text_index import Scores

RANK_CONSTANT: Final = 60


def fuse(lists: Iterable[tuple[Rows, float]], rows: int) -> tuple[Rows, Scores]:
    """Join ranked lists of rows, each with its weight; return the rows found, in order of arrival, and their scores."""
    scores = np.zeros(rows)
    found = np.zeros(rows, dtype=np.bool_)
    for ranked, weight in lists:
        scores[ranked] += weight / (RANK_CONSTANT + np.arange(len(ranked)))
        found[ranked] = True
    members = np.flatnonzero(found)
    return members, scores[members]
