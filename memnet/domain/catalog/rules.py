"""The rules that a profile is made of: documents, sensitive content, extraction and upkeep."""

from enum import StrEnum
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from memnet.domain.core import json_patch
from memnet.domain.core.scope import SEGMENT, DocumentKey, Json, UserScope, check_identifier

Identifier = Annotated[str, StringConstraints(pattern=rf"^{SEGMENT.pattern}$")]
Pointer = Annotated[str, StringConstraints(pattern=r"^(/([^~/]|~[01])*)*$", max_length=512)]
"""A JSON Pointer (RFC 6901) relative to `content`; in rules a segment `*` stands for any one segment."""
DeniedField = Annotated[str, StringConstraints(pattern=r"^(?s:[^/].*|(/([^~/]|~[01])*)+)$", max_length=512)]
"""A pointer pattern if it starts with '/', else a member name, refused at any depth."""
Confidence = Annotated[float, Field(ge=0, le=1)]
Duration = Annotated[str, StringConstraints(pattern=r"^P(?:[1-9][0-9]{0,4}D|[1-9][0-9]{0,3}W|T[1-9][0-9]{0,4}H)$")]
"""Days, weeks or hours as ISO 8601 writes them: `P7D`, `P2W`, `PT12H`."""
Days = Annotated[int, Field(ge=1, le=36_500)]


class ProfilePart(BaseModel):
    """Frozen; an unknown member is an error, because a misspelt rule would silently not hold."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class DocumentFamily(ProfilePart):
    """Which documents something is about: either `path` or `path_template` is given."""

    namespace: Identifier
    path: str | None = None
    path_template: str | None = None

    def variable(self) -> str | None:
        """The name between the braces of `path_template`; None for a fixed path."""
        if self.path_template is None:
            return None
        return self.path_template.partition("{")[2].partition("}")[0]

    def resolve(self, scope: UserScope, value: str | None = None) -> DocumentKey:
        """The document of `scope` this names; `value`, one segment, fills the variable.

        Raises InvalidIdentifier.
        """
        path = self.path or ""
        variable = self.variable()
        if self.path_template is not None and variable is not None:
            filled = check_identifier(variable, value or "")
            path = self.path_template.replace(f"{{{variable}}}", filled)
        return DocumentKey(scope, self.namespace, path)

    def covers(self, key: DocumentKey) -> bool:
        """Whether the document is one of these: same namespace, and the path fits."""
        if key.namespace != self.namespace:
            return False
        return key.path == self.path if self.path_template is None else self.value_in(key) is not None

    def value_in(self, key: DocumentKey) -> str | None:
        """What fills the variable of `path_template` in this document's path; None if nothing does."""
        before, _, rest = (self.path_template or "").partition("{")
        after = rest.partition("}")[2]
        value = key.path[len(before) : len(key.path) - len(after)]
        fits = self.path_template is not None and key.path == before + value + after
        return value if fits and SEGMENT.fullmatch(value) else None


class Kind(StrEnum):
    """The kinds of sensitive content that are refused by their value."""

    CARD_NUMBER = "card_number"
    IBAN = "iban"
    SOCIAL_SECURITY_NUMBER = "social_security_number"
    PRIVATE_KEY = "private_key"
    ACCESS_TOKEN = "access_token"
    PASSWORD = "password"
    SECURITY_CODE = "security_code"


Shape = Annotated[str, StringConstraints(pattern=r"^[ -~]*([#@][ -~]*){4}$", max_length=64)]
"""The form of a value: `#` is any digit, `@` any ASCII letter, every other printable ASCII character is itself."""


class SensitiveContent(ProfilePart):
    """A profile's changes to what is refused: `allow` takes kinds out, `shapes` adds values by kind and form.

    A shape such as `EMP-######` needs four `#` or `@` at least, so that no common word matches it.
    """

    allow: tuple[Kind, ...] = ()
    shapes: dict[Identifier, Shape] = Field(default_factory=dict)


STRICTEST = SensitiveContent()
"""Applies where there is no profile."""


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


Share = Annotated[float, Field(gt=0, le=1)]
"""Of a limit: how full a document may be before sections give way."""


class Measure(ProfilePart):
    """A member of an entry that measures its value: a number, or with `order` one of these texts, lowest first.

    `default` counts for entries without the member; without a default they are worth least.
    """

    field: Identifier
    order: tuple[str, ...] = ()
    default: float | str | None = None


class SectionUpkeep(ProfilePart):
    """The upkeep of one array of the content; a binding's rules come in the order in which sections give way.

    `merge`: entries that say the same are folded into one. `keep`: the section gives way, but so many entries stay.
    Entries with the lowest value by `trim_by` go first, of equal ones the first in the array; their detail is written
    to an event before. `trim_below`: only entries less sure than this give way; a durable section gives way in no
    other way. `expires_field`: an entry whose time this is has passed goes, its detail to an event. `ttl_field`: a
    written entry that names one of the profile's `ttl_classes` there gets its `expires_field` from that class.
    `stale_after_days`: an entry not verified (`verified_field`) for so long goes back to the pending section. The
    other fields say where an entry that is an object has its text and what belongs to it.
    """

    section: Pointer
    merge: bool = False
    keep: Annotated[int, Field(ge=0)] | None = None
    trim_below: Confidence | None = None
    trim_by: tuple[Measure, ...] = ()
    expires_field: Identifier | None = None
    ttl_field: Identifier | None = None
    stale_after_days: Annotated[int, Field(ge=1)] | None = None
    verified_field: Identifier = "last_verified_at"
    text_field: Identifier = "text"
    confidence_field: Identifier = "confidence"
    evidence_field: Identifier = "evidence"
    id_field: Identifier = "id"

    @cached_property
    def place(self) -> json_patch.Pointer:
        """The parsed `section`."""
        return json_patch.pointer(self.section)
