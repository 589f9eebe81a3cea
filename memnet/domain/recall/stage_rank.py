"""The stage `rank`: by the measures of a released ranker."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from memnet.domain.catalog.ranker import Rankers
from memnet.domain.catalog.recall_rules import Rank
from memnet.domain.recall.candidate import Candidate, Question
from memnet.domain.recall.measures import measure
from memnet.domain.recall.ranking import LeftOut, Ranking, Scored

LISTED = 10
"""How many candidates of a question without an answer are listed as left out."""


def rank(rule: Rank, ranking: Ranking, question: Question, rankers: Rankers) -> Ranking:
    """Rank the gathered candidates by the weighted sum of their measures; none if they cannot answer the question."""
    ranked, is_answerable = score(rule, ranking.gathered, question, rankers)
    if not is_answerable:
        left = [LeftOut(one.candidate, "rank", one.score) for one in ranked[:LISTED]]
        return replace(ranking, ranked=(), left_out=(*ranking.left_out, *left))
    return replace(ranking, ranked=tuple(ranked))


def score(rule: Rank, gathered: Sequence[Candidate], question: Question, rankers: Rankers) -> tuple[list[Scored], bool]:
    """Return the candidates with a signal, best first, and whether they can answer the question."""
    ranker = rankers[rule.ranker_id, rule.ranker_version].file
    candidates = sorted(gathered, key=lambda one: one.key)
    if not candidates:
        return [], True
    measured = measure(candidates, question, ranker.constants)
    weights = ranker.weights_of(None if question.vector is None else question.embedder)
    parts = {name: getattr(weights, name) * values for name, values in measured.measures.items()}
    # From the longest one, so that each score is positive.
    parts["length"] = ranker.constants.length * (measured.length.max() - measured.length)
    whole = sum(weights.model_dump().values()) or 1.0
    parts = {name: values / whole for name, values in parts.items()}
    totals = np.sum(list(parts.values()), axis=0)
    rows = np.array(list(parts.values())).T.tolist()
    # Equal scores stay in the order of the keys.
    order = np.argsort(-totals, kind="stable")
    ranked = [
        Scored(candidates[number], float(totals[number]), dict(zip(parts, rows[number], strict=True)))
        for number in order[measured.has_signal[order]].tolist()
    ]
    return ranked, measured.is_answerable
