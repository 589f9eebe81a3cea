"""BM25 over the given texts alone."""

import math

import numpy as np
import pytest

from memnet.domain.core.terms import Terms
from memnet.domain.recall.bm25 import bm25, counts, stretched

TEXTS = [Terms(text) for text in ("A dog, a dog and a cat.", "dog", "bird fish", "")]


def test_the_scores_are_those_of_the_formula() -> None:
    rare = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    average = 6 / 4
    first = rare * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / average))
    second = rare * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 1 / average))
    assert bm25(["dog", "dog"], TEXTS, 1.2, 0.75).tolist() == pytest.approx([first, second, 0.0, 0.0])


@pytest.mark.parametrize(
    ("query", "texts"), [([], TEXTS), (["dog"], []), ([], []), (["dog"], [Terms(""), Terms("the")])]
)
def test_nothing_in_common_scores_zero(query: list[str], texts: list[Terms]) -> None:
    assert bm25(query, texts, 0.9, 0.4).tolist() == [0.0] * len(texts)


def test_words_are_counted() -> None:
    assert counts(["cat", "dog"], [text.counts for text in TEXTS]).tolist() == [[1, 2], [0, 1], [0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([2.0, 4.0, 3.0], [0.0, 1.0, 0.5]), ([2.0, 2.0], [1.0, 1.0]), ([0.0], [0.0]), ([], [])],
)
def test_scores_are_stretched(scores: list[float], expected: list[float]) -> None:
    assert stretched(np.array(scores)).tolist() == expected
