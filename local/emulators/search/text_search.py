"""A parsed search text over the text indexes: which rows match, with what score.

As Lucene's SimpleQueryParser builds it: a word is looked for in every field and its scores add up; a word that analysis
breaks into several terms is those terms joined by the default operator.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from local.emulators.search.analysis import terms
from local.emulators.search.columns import Mask, Rows
from local.emulators.search.query_syntax import (
    Combined,
    MatchAll,
    MatchNone,
    Not,
    Operator,
    Phrase,
    Prefix,
    Query,
    Word,
    parse,
)
from local.emulators.search.text_index import Scores, TextIndex


@dataclass(frozen=True)
class Matches:
    """The rows that match, as a mask, and the score of every row (0 where it does not match)."""

    mask: Mask
    scores: Scores


class TextSearch:
    """Evaluates one search text over some fields."""

    def __init__(self, indexes: Sequence[TextIndex], default: Operator, allowed: Mask) -> None:
        """`allowed` are the rows that may match at all."""
        self._indexes = indexes
        self._default = default
        self._allowed = allowed

    def run(self, text: str) -> Matches:
        """Return the matches of a text. Raises SearchError (400) when it exceeds a limit."""
        query = parse(text, self._default, lambda part: bool(terms(part)))
        return self._matches(query)

    def _matches(self, query: Query) -> Matches:
        match query:
            case MatchAll():
                return Matches(self._allowed, self._allowed.astype(np.float64))
            case MatchNone():
                return self._nothing()
            case Not(operand):
                mask = self._allowed & ~self._matches(operand).mask
                return Matches(mask, mask.astype(np.float64))
            case Combined(operator, operands):
                return _combined(operator, [self._matches(operand) for operand in operands])
            case Prefix(text):
                return self._prefix(text)
            case Word() | Phrase():
                return self._leaf(query)

    def _leaf(self, query: Word | Phrase) -> Matches:
        found, wanted = self._nothing(), terms(query.text)
        for index in self._indexes:
            if isinstance(query, Phrase) and len(wanted) > 1:
                self._add(found, index.match_phrase(wanted, self._allowed))
            elif len(wanted) == 1:
                self._add(found, index.match_term(wanted[0], self._allowed))
            elif wanted:
                several = _combined(self._default, [self._term(index, term) for term in wanted])
                found = Matches(found.mask | several.mask, found.scores + several.scores)
        return found

    def _term(self, index: TextIndex, term: str) -> Matches:
        found = self._nothing()
        self._add(found, index.match_term(term, self._allowed))
        return found

    def _prefix(self, prefix: str) -> Matches:
        found = self._nothing()
        for index in self._indexes:
            rows, _ = index.match_prefix(prefix, self._allowed)
            found.mask[rows] = True
            found.scores[rows] = 1.0
        return found

    def _nothing(self) -> Matches:
        return Matches(np.zeros(len(self._allowed), dtype=np.bool_), np.zeros(len(self._allowed)))

    @staticmethod
    def _add(found: Matches, hits: tuple[Rows, Scores]) -> None:
        rows, scores = hits
        found.mask[rows] = True
        found.scores[rows] += scores


def _combined(operator: Operator, operands: Sequence[Matches]) -> Matches:
    masks = [operand.mask for operand in operands]
    mask = np.logical_and.reduce(masks) if operator is Operator.AND else np.logical_or.reduce(masks)
    scores = np.add.reduce([operand.scores for operand in operands])
    return Matches(mask, np.where(mask, scores, 0.0))
