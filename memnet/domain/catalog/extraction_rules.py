"""The extraction rules of a profile: the prompt, the cap of confidence, and the entries made of proposed texts."""

from typing import Annotated, Literal

from pydantic import Field

from memnet.domain.catalog.profile_types import Confidence, Identifier, Pointer, ProfilePart
from memnet.domain.core.scope import Json

RULES_CONFIDENCE = 0.5
"""The most that is claimed without a model: below what a profile with cues lets a replay apply."""


class TriggerPhrase(ProfilePart):
    """Where the extractor without a model proposes what a user says in a certain way.

    `wish`: how something should be done; `statement`: something said of oneself; `decision`: something agreed on.
    """

    says: Literal["wish", "statement", "decision"]
    binding_id: Identifier
    section: Pointer


class ExtractionRules(ProfilePart):
    """How conversations are replayed under the profile. Without such rules a replay writes an event and no patch.

    `max_confidence` caps what a model may claim. `items` says, by binding and section, what a text that is added to
    an array becomes: an object in which $id, $text, $confidence, $evidence, $time and $date are filled in.
    """

    prompt_id: Identifier
    prompt_version: Identifier
    max_confidence: Confidence = 0.75
    max_patches: Annotated[int, Field(ge=1, le=50)] = 10
    items: dict[str, dict[Pointer, dict[str, Json]]] = Field(default_factory=dict)
    cues: tuple[TriggerPhrase, ...] = ()
