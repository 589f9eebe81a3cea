"""The stage `relevant`: write what the stages before found."""

from memnet.domain.catalog.recall_rules import Relevant
from memnet.domain.recall.candidate import Question
from memnet.domain.recall.ranking import Ranking


def relevant(rule: Relevant, ranking: Ranking, _question: Question, _rankers: object) -> Ranking:
    """Add the group of what is ranked. An item that an earlier group has too is written once."""
    return ranking.with_group(rule, ranking.ranked)
