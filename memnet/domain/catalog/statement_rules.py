"""The rules of a section whose entries are statements: what each is about, which disagree, and which say the same."""

from typing import Annotated, Final, Literal

from pydantic import Field

from memnet.domain.catalog.rule_types import Confidence, Identifier, ProfilePart

MERGES: Final = "merges"
"""The member of a pending item with the ids of the statements that its confirmation closes."""


class Statements(ProfilePart):
    """Which members of an entry say what it is about, what it says, and since and until when.

    Entries are about the same thing if their `about` members are equal as normalised text; absent and null are equal.
    An entry whose `until_field` is set is closed, every other one is open. `several`: by member of `about`, the values
    for which several open entries may exist side by side, such as {"attribute": ["owns"]}.
    `on_contradiction`: what happens to the open entry when another value is stated later: it is closed (supersede), it
    stays and the new one is dropped (keep), or the new one waits with a `question` (ask). With `unless_less_sure_by`, a
    statement that is less sure than the open entry by more than that waits, whatever `on_contradiction` says.
    `question` has the placeholders {old} and {new}; `decides`: who answers it.
    `claimed_by_field`: the member of `about` with the code of the claimant, which the service writes. So each claimant
    has one open answer about a thing, beside those of others. `between_claimants`: what happens when two of them say
    different things: both are kept, and a recall weighs them (weigh), or the new one waits for the tenant (review).
    """

    about: Annotated[tuple[Identifier, ...], Field(min_length=1)]
    value_field: Identifier
    from_field: Identifier
    until_field: Identifier
    replaces_field: Identifier
    replaced_field: Identifier
    several: dict[Identifier, tuple[str, ...]] = Field(default_factory=dict)
    on_contradiction: Literal["supersede", "keep", "ask"] = "supersede"
    unless_less_sure_by: Confidence | None = None
    question: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    decides: Literal["user", "tenant"] | None = None
    claimed_by_field: Identifier | None = None
    between_claimants: Literal["weigh", "review"] = "weigh"


class Consolidation(ProfilePart):
    """How statements about different things that say the same in other words become one.

    Two statements are near if the cosine of their meanings, or without embeddings the share of their words that both
    have, is at least `above`. Without a prompt the surest stays. With one, and a model, a text that joins them is made.
    """

    above: Annotated[float, Field(gt=0, le=1)]
    prompt_id: Identifier | None = None
    prompt_version: Identifier | None = None


class Corroboration(ProfilePart):
    """When a pending item is applied without a confirmation: its user stated it in `statements` conversations, the
    first and the last at least `days_apart` days apart.
    """

    statements: Annotated[int, Field(ge=2, le=20)]
    days_apart: Annotated[int, Field(ge=0, le=365)] = 0
