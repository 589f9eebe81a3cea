"""The rules of a profile for turns: whether they are searchable, when they are replayed, and which are extracted."""

from typing import Annotated, Literal

from pydantic import Field

from memnet.domain.catalog.rule_types import Confidence, Identifier, ProfilePart

SpeakerRole = Literal["user", "assistant", "system", "tool"]
Tokens = Annotated[int, Field(ge=1, le=1_000_000_000)]


class TurnGates(ProfilePart):
    """The limits of turns; None: no limit.

    `max_per_minute` refuses turns of a user. The others decide whether a turn is extracted, never whether it is stored:
    `min_quality` of the user's own words, 0 to 1; `same_above`: the similarity to a recent turn from which it counts
    as said lately; `replays_per_day` and `model_tokens_per_day` of a user, after which a replay extracts by rules or
    waits for the next day (UTC), as `over_budget` says.
    """

    max_per_minute: Annotated[int, Field(ge=1, le=6_000)] | None = None
    min_quality: Confidence | None = None
    same_above: Confidence | None = None
    replays_per_day: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    model_tokens_per_day: Tokens | None = None
    over_budget: Literal["rules", "wait"] = "rules"

    @property
    def has_budget(self) -> bool:
        """Whether a user's replays or model tokens of a day are limited."""
        return self.replays_per_day is not None or self.model_tokens_per_day is not None


class TurnRules(ProfilePart):
    """How a profile accepts turns; a profile without these rules refuses them.

    `searchable`: messages of the `roles` can be found by turns:search, in turns and snapshots of this profile.
    `of_profiles`: the profiles whose turns a search under this one finds; empty: this one. `quiet_seconds`: how long a
    conversation is silent before its turns are replayed together; 0: each turn at once. `earlier_messages`: how many
    earlier messages of the conversation a replay quotes.
    """

    searchable: bool = False
    roles: Annotated[tuple[SpeakerRole, ...], Field(min_length=1)] = ("user", "assistant")
    of_profiles: tuple[Identifier, ...] = ()
    quiet_seconds: Annotated[int, Field(ge=0, le=86_400)] = 0
    earlier_messages: Annotated[int, Field(ge=0, le=200)] = 20
    gates: TurnGates = TurnGates()
