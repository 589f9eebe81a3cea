"""The stage `recent`: write the end of the conversation."""

from memnet.domain.catalog.recall_rules import Recent
from memnet.domain.recall.candidate import Candidate, CandidateKind, Question
from memnet.domain.recall.ranking import Ranking, Scored

BEGINS_A_TURN = "user"
"""The role with whose message a turn begins. What follows it answers it."""


def recent(rule: Recent, ranking: Ranking, question: Question, _rankers: object) -> Ranking:
    """Add the group of the last `turns` turns of the conversation, the newest message first."""
    scores = {one.candidate.key: one for one in ranking.ranked}
    found = [scores.get(one.key, Scored(one, 0.0)) for one in _last(ranking, question, rule.turns)]
    return ranking.with_group(rule, found)


def _last(ranking: Ranking, question: Question, turns: int) -> list[Candidate]:
    said = [one for one in ranking.gathered if one.kind is CandidateKind.TURN]
    here = [one for one in said if one.conversation_id == question.conversation_id is not None]
    newest = sorted(here, key=lambda one: (one.said_at or "", one.ordinal, one.key), reverse=True)
    begun = [place for place, one in enumerate(newest) if one.role == BEGINS_A_TURN]
    return newest[: begun[turns - 1] + 1] if len(begun) >= turns else newest
