"""Run the stages of a pipeline over the gathered candidates. Pure: the same input gives the same ranking."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memnet.domain.catalog.ranker import Rankers
from memnet.domain.catalog.recall_rules import StageRule
from memnet.domain.recall.candidate import Candidate, Question
from memnet.domain.recall.ranking import Ranking, Trace
from memnet.domain.recall.stage_claims import claims
from memnet.domain.recall.stage_cut import cut
from memnet.domain.recall.stage_floor import floor
from memnet.domain.recall.stage_hops import hops
from memnet.domain.recall.stage_known import known
from memnet.domain.recall.stage_rank import rank
from memnet.domain.recall.stage_recent import recent
from memnet.domain.recall.stage_relevant import relevant
from memnet.domain.recall.stage_rerank import rerank
from memnet.domain.recall.stage_rewrite import averaged, rewrite
from memnet.domain.recall.stage_search import search
from memnet.domain.recall.stage_signals import signals
from memnet.domain.recall.stage_weigh import weigh

Stage = Callable[[Any, Ranking, Question, Rankers], Ranking]
"""A stage: its rule, the ranking so far, the question, and the released rankers."""
STAGES: Mapping[str, Stage] = {
    "rewrite": rewrite,
    "search": averaged(search),
    "rank": averaged(rank),
    "floor": floor,
    "signals": signals,
    "hops": hops,
    "weigh": weigh,
    "claims": claims,
    "rerank": rerank,
    "cut": cut,
    "known": known,
    "relevant": relevant,
    "recent": recent,
}
"""The function of each stage, by the name in its rule."""


def run(
    pipeline: Sequence[StageRule], gathered: Sequence[Candidate], question: Question, rankers: Rankers
) -> tuple[Ranking, list[Trace]]:
    """Return the ranking after the last stage, and what each stage returned."""
    ranking, traces = Ranking(tuple(gathered)), []
    for rule in pipeline:
        ranking = STAGES[rule.stage](rule, ranking, question, rankers)
        traces.append(Trace(rule.stage, ranking.ranked, ranking.left_out))
    return ranking, traces
