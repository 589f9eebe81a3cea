"""The stage `known`: write what is known for sure, whatever was asked."""

from memnet.domain.catalog.recall_rules import Known
from memnet.domain.history.statements import EntryState
from memnet.domain.recall.candidate import Candidate, CandidateKind, Question
from memnet.domain.recall.importance import live_importance, moment
from memnet.domain.recall.ranking import Ranking, Scored, best_first


def known(rule: Known, ranking: Ranking, question: Question, _rankers: object) -> Ranking:
    """Add the group of the open entries that are at least `least_confidence` sure, the most important first."""
    sure = [(one, one.confidence) for one in ranking.gathered if _is_known(one)]
    found = [
        Scored(one, confidence * _worth(one, ranking, question), {rule.stage: confidence})
        for one, confidence in sure
        if confidence is not None and confidence >= rule.least_confidence
    ]
    return ranking.with_group(rule, best_first(found)[: rule.most])


def _is_known(candidate: Candidate) -> bool:
    is_open = candidate.kind is CandidateKind.ENTRY and candidate.state is EntryState.OPEN
    return is_open and not candidate.is_guidance


def _worth(candidate: Candidate, ranking: Ranking, question: Question) -> float:
    """Return the live importance, less if another claimant says something else."""
    used = moment(candidate.last_used_at) or moment(candidate.said_at)
    importance = live_importance(candidate.importance, candidate.uses, used, question.now)
    return importance * ranking.disputed.get(candidate.key, 1.0)
