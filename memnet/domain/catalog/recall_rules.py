"""The rules of a profile for recall: named pipelines, each a list of stages with their parameters, and their limits."""

from typing import Annotated, Literal

from pydantic import Field

from memnet.domain.catalog.rule_types import Confidence, Identifier, ProfilePart
from memnet.domain.core.errors import PipelineNotFound
from memnet.domain.core.suggestion import did_you_mean, listed

Weight = Annotated[float, Field(ge=0, le=100)]
Count = Annotated[int, Field(ge=1, le=1000)]
Heading = Annotated[str, Field(min_length=1, max_length=120)]


class Rewrite(ProfilePart):
    """Ask a model for up to `queries` other wordings of a short or unclear question; scores are averaged.

    A question is short if it has at most `words` words, and unclear if it has a pronoun.
    """

    stage: Literal["rewrite"]
    prompt_id: Identifier
    prompt_version: Identifier
    words: Annotated[int, Field(ge=0, le=20)] = 3
    queries: Annotated[int, Field(ge=1, le=3)] = 3


class SearchStage(ProfilePart):
    """Take the best `take` candidates by words and by meaning each, and join the two rankings.

    `rrf`: reciprocal rank fusion, the sum of weight / (`k` + rank) (Cormack et al., 2009); `scores`: the weighted sum
    of both scores, each stretched to 0..1. `turns_of`: turns of all of the user's conversations, or of this one.
    """

    stage: Literal["search"]
    take: Count = 30
    fusion: Literal["rrf", "scores"] = "rrf"
    k: Annotated[int, Field(ge=1, le=1000)] = 60
    words: Weight = 0.4
    meaning: Weight = 0.6
    turns_of: Literal["user", "conversation"] = "user"


class Rank(ProfilePart):
    """Rank what was gathered by a released ranker."""

    stage: Literal["rank"]
    ranker_id: Identifier = "conversation"
    ranker_version: Identifier = "1.0.0"


class Floor(ProfilePart):
    """Return nothing if the best similarity by meaning is below `least`."""

    stage: Literal["floor"]
    least: Confidence = 0.45


class Signals(ProfilePart):
    """Add to the scores: who is named in the question, which time, the turns next to it, the best of the session."""

    stage: Literal["signals"]
    speaker: Weight = 0.3
    date: Weight = 0.1
    neighbour: Weight = 0.2
    session: Weight = 0.3


class Hops(ProfilePart):
    """Add what the best `seeds` lead to in up to `most` steps; step n gets the seed's score times `factor` to the n."""

    stage: Literal["hops"]
    seeds: Annotated[int, Field(ge=1, le=100)] = 10
    most: Annotated[int, Field(ge=1, le=5)] = 3
    factor: Confidence = 0.6


class Weigh(ProfilePart):
    """Score by four parts: rank, recency, importance and use. `recency_weight` 0 to 1 moves weight to recency."""

    stage: Literal["weigh"]
    recency_weight: Confidence = 0.3


class Claims(ProfilePart):
    """Weigh open statements about one thing that several claimants contradict.

    Score times 0.5 to the power of (days older than the newest claim / `half_life_days`), times
    1 - `share` + `share` x (its confidence / that of the surest claim).
    """

    stage: Literal["claims"]
    half_life_days: Annotated[float, Field(gt=0, le=36_500)] = 180
    share: Confidence = 1.0


class Rerank(ProfilePart):
    """Ask a model for the order of the best `top`."""

    stage: Literal["rerank"]
    prompt_id: Identifier
    prompt_version: Identifier
    top: Annotated[int, Field(ge=2, le=50)] = 20


class Cut(ProfilePart):
    """Keep the best `take` of those that score at least `least`."""

    stage: Literal["cut"]
    least: Annotated[float, Field(ge=0)] = 0.005
    take: Count = 40


class Known(ProfilePart):
    """Write up to `most` open entries that are at least this sure, whatever was asked, in `share` of the tokens."""

    stage: Literal["known"]
    share: Confidence = 0.3
    most: Annotated[int, Field(ge=1, le=200)] = 20
    least_confidence: Confidence = 0.7
    heading: Heading = "Known facts about this user"


class Relevant(ProfilePart):
    """Write what the stages before found, in `share` of the tokens."""

    stage: Literal["relevant"]
    share: Confidence = 0.5
    heading: Heading = "Relevant from recent conversations"


class Recent(ProfilePart):
    """Write the last `turns` turns of the conversation, in `share` of the tokens."""

    stage: Literal["recent"]
    share: Confidence = 0.2
    turns: Annotated[int, Field(ge=1, le=50)] = 3
    heading: Heading = "This conversation"


StageRule = Annotated[
    Rewrite | SearchStage | Rank | Floor | Signals | Hops | Weigh | Claims | Rerank | Cut | Known | Relevant | Recent,
    Field(discriminator="stage"),
]
Pipeline = Annotated[tuple[StageRule, ...], Field(min_length=1, max_length=20)]
EVIDENCE: Pipeline = (
    Rank(stage="rank"),
    Hops(stage="hops"),
    Cut(stage="cut"),
    Relevant(stage="relevant", share=1.0),
)
"""The pipeline of a profile that names none."""


class RecallRules(ProfilePart):
    """How a profile recalls.

    `default` names one of the `pipelines`. `show_waiting`: whether pending items may be returned, marked as such.
    `max_tokens`: the most that an answer has, unless the request asks for less; `tokens`: the encoding that counts
    them (other: cl100k_base times 1.15). `seconds`: after these, what is there by then is answered.
    """

    default: Identifier = "evidence"
    pipelines: Annotated[dict[Identifier, Pipeline], Field(min_length=1)] = Field(
        default_factory=lambda: {"evidence": EVIDENCE}
    )
    show_waiting: bool = False
    max_tokens: Annotated[int, Field(ge=100, le=100_000)] = 1024
    tokens: Literal["cl100k_base", "o200k_base", "other"] = "cl100k_base"
    seconds: Annotated[float, Field(gt=0, le=20)] = 2.0

    def pipeline(self, name: str | None) -> tuple[str, Pipeline]:
        """Return a pipeline with its name; None: the default. Raises PipelineNotFound, which lists those known."""
        wanted = name or self.default
        if wanted not in self.pipelines:
            hint = did_you_mean(wanted, self.pipelines)
            raise PipelineNotFound(param="/pipeline", hint=hint, known=listed(self.pipelines))
        return wanted, self.pipelines[wanted]


class SectionRendering(ProfilePart):
    """How the entries of a section are written: under this heading, each as `item`, with {member} for its members."""

    binding_id: Identifier
    section: Annotated[str, Field(pattern=r"^(/([^~/]|~[01])*)+$", max_length=512)]
    heading: Heading
    item: Annotated[str, Field(min_length=1, max_length=300)] = "{text}"
