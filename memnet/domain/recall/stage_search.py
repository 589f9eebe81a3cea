"""The stage `search`: by words and by meaning, joined."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from memnet.domain.catalog.ranker import Rankers
from memnet.domain.catalog.recall_rules import SearchStage
from memnet.domain.core.words import words
from memnet.domain.recall.bm25 import Array, bm25, stretched
from memnet.domain.recall.candidate import Candidate, CandidateKind, Question
from memnet.domain.recall.meaning import by_meaning
from memnet.domain.recall.ranking import Ranking, Scored, best_first

K1, B = 1.2, 0.75
"""The parameters of BM25 that Azure AI Search uses by default (Microsoft Learn, "Relevance in keyword search")."""


def search(rule: SearchStage, ranking: Ranking, question: Question, rankers: Rankers) -> Ranking:
    """Join the best by words and the best by meaning.

    Without vectors the words have the weight of both, so that scores mean the same to the stages after it.
    """
    candidates = sorted(_searched(rule, ranking.gathered, question), key=lambda one: one.key)
    by_words = bm25(words(question.text), [one.terms for one in candidates], K1, B)
    similar = by_meaning(candidates, question)
    parts = {
        "words": (rule.words + (rule.meaning if similar is None else 0.0)) * _fused(rule, by_words),
        "meaning": rule.meaning * _fused(rule, np.zeros(len(candidates)) if similar is None else similar),
    }
    best = {*_best(rule, by_words), *([] if similar is None else _best(rule, similar))}
    scores = parts["words"] + parts["meaning"]
    found = [
        Scored(candidates[n], float(scores[n]), {name: float(values[n]) for name, values in parts.items()})
        for n in best
    ]
    return replace(ranking, ranked=tuple(best_first(found)))


def _searched(rule: SearchStage, gathered: Iterable[Candidate], question: Question) -> list[Candidate]:
    if rule.turns_of == "user" or question.conversation_id is None:
        return list(gathered)
    return [
        one for one in gathered if one.kind is not CandidateKind.TURN or one.conversation_id == question.conversation_id
    ]


def _fused(rule: SearchStage, scores: Array) -> Array:
    best = _best(rule, scores)
    fused = np.zeros(len(scores))
    fused[best] = 1 / (rule.k + 1 + np.arange(len(best))) if rule.fusion == "rrf" else stretched(scores)[best]
    return fused


def _best(rule: SearchStage, scores: Array) -> list[int]:
    """Return the numbers of the best; equal scores by key."""
    order = np.argsort(-scores, kind="stable")[: rule.take]
    return [int(number) for number in order if scores[number] > 0]
