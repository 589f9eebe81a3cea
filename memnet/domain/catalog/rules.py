"""The rules that a profile is made of: documents, sensitive content, extraction and upkeep."""

from collections.abc import Iterable
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from memnet.domain.catalog.rule_types import Confidence, Identifier, Pointer, ProfilePart
from memnet.domain.catalog.statement_rules import Consolidation, Statements
from memnet.domain.core import json_patch
from memnet.domain.core.scope import SEGMENT, DocumentKey, Json, UserScope, check_identifier


class DocumentFamily(ProfilePart):
    """A document by its path, or a family of documents by a template with one variable."""

    namespace: Identifier
    path: str | None = None
    path_template: str | None = None

    def variable(self) -> str | None:
        """Return the name of the template's variable; None for a fixed path."""
        if self.path_template is None:
            return None
        return self.path_template.partition("{")[2].partition("}")[0]

    def place(self) -> str:
        """Return namespace and path as one text, with the template's variable in braces."""
        return f"{self.namespace}/{self.path_template or self.path}"

    def resolve(self, scope: UserScope, value: str | None = None) -> DocumentKey:
        """Return the document of `scope`; `value`, one segment, fills the variable. Raises InvalidIdentifier."""
        path = self.path or ""
        variable = self.variable()
        if self.path_template is not None and variable is not None:
            filled = check_identifier(variable, value or "")
            path = self.path_template.replace(f"{{{variable}}}", filled)
        return DocumentKey(scope, self.namespace, path)

    def covers(self, key: DocumentKey) -> bool:
        """Whether the document belongs to the family."""
        if key.namespace != self.namespace:
            return False
        return key.path == self.path if self.path_template is None else self.value_in(key) is not None

    def value_in(self, key: DocumentKey) -> str | None:
        """Return the value of the variable in this document's path; None if the template does not match."""
        before, _, rest = (self.path_template or "").partition("{")
        after = rest.partition("}")[2]
        value = key.path[len(before) : len(key.path) - len(after)]
        fits = self.path_template is not None and key.path == before + value + after
        return value if fits and SEGMENT.fullmatch(value) else None


class Kind(StrEnum):
    """The kinds of sensitive values."""

    CARD_NUMBER = "card_number"
    IBAN = "iban"
    SOCIAL_SECURITY_NUMBER = "social_security_number"
    PRIVATE_KEY = "private_key"
    ACCESS_TOKEN = "access_token"
    PASSWORD = "password"
    SECURITY_CODE = "security_code"


Shape = Annotated[str, StringConstraints(pattern=r"^[ -~]*([#@][ -~]*){4}$", max_length=64)]
"""The form of a value: `#` is any digit, `@` any ASCII letter, other printable ASCII characters are literal."""


class SensitiveContent(ProfilePart):
    """The sensitive content of a profile: without the kinds in `allow`, and with `shapes` by kind.

    A shape such as `EMP-######` needs at least four `#` or `@`, so that no common word matches it.
    """

    allow: tuple[Kind, ...] = ()
    shapes: dict[Identifier, Shape] = Field(default_factory=dict)


STRICTEST = SensitiveContent()
"""Applies where there is no profile."""


RULES_CONFIDENCE = 0.5
"""The confidence of the rule-based extractor. A profile with cues must require more for auto-apply."""


class CueSetName(ProfilePart):
    """One version of the cues of a language: `cues/<language>/<version>.json`."""

    language: Identifier
    version: Identifier


class TriggerPhrase(ProfilePart):
    """The section for the phrases of one kind; the kinds are those of the cues, such as `statement`."""

    says: Identifier
    binding_id: Identifier
    section: Pointer


class JudgeRules(ProfilePart):
    """The prompt of the call that aligns candidates with open entries; `near` is the similarity from which an entry
    is shown with a candidate, `top` how many are.
    """

    prompt_id: Identifier
    prompt_version: Identifier
    near: Confidence = 0.6
    top: Annotated[int, Field(ge=1, le=20)] = 8


class PromptName(ProfilePart):
    """One version of a prompt: `prompts/<prompt_id>/<version>.md`."""

    prompt_id: Identifier
    prompt_version: Identifier


class ExtractionRules(ProfilePart):
    """The rules of replays. Without them a replay writes an event and no patch.

    `max_confidence` caps the confidence of a model. `items` has templates for new entries by binding and section, with
    the placeholders $id, $text, $confidence, $evidence, $time, $date and $topic. A member with $said is filled by the
    proposal. `cue_sets` are tried in order.
    `prompts`: by binding, the prompt of a call of its own, which gets this document only; documents with the same
    prompt share a call.
    """

    prompt_id: Identifier
    prompt_version: Identifier
    max_confidence: Confidence = 0.75
    max_patches: Annotated[int, Field(ge=1, le=50)] = 10
    items: dict[str, dict[Pointer, dict[str, Json]]] = Field(default_factory=dict)
    cues: tuple[TriggerPhrase, ...] = ()
    cue_sets: tuple[CueSetName, ...] = (CueSetName(language="en", version="1.0.0"),)
    judge: JudgeRules | None = None
    prompts: dict[str, PromptName] = Field(default_factory=dict)


Share = Annotated[float, Field(gt=0, le=1)]
"""The share of its limit that a document may fill before sections are trimmed."""


class Measure(ProfilePart):
    """A measure of an entry: a number, or its place in `order`, lowest first; without `default`, absence is lowest."""

    field: Identifier
    order: tuple[str, ...] = ()
    default: float | str | None = None


WORTH: Final = "worth"
"""The measure that is the importance of an entry now, which decays unless recalls return it, times its confidence."""


class SectionUpkeep(ProfilePart):
    """The upkeep of one array of the content. Sections are trimmed in the order of their rules.

    `merge`: entries with the same text are merged. `keep`: the section is trimmed to this many open entries: closed
    statements first, then those with the lowest value by `trim_by`, then the first in the array; removed entries are
    written to an event. A measure is a member of the entries, or "worth": their live importance times confidence.
    `trim_below`: only entries below this confidence are trimmed; durable sections need it. `expires_field`: entries
    are moved to an event after this time. `ttl_field`: the class of an entry, one of `ttl_classes`, sets its
    `expires_field`. `stale_after_days`: an entry whose `verified_field` is older returns to the pending section.
    `consolidate`: open statements that say the same become one. The other fields name the members of an entry.
    """

    section: Pointer
    merge: bool = False
    keep: Annotated[int, Field(ge=0)] | None = None
    trim_below: Confidence | None = None
    trim_by: tuple[Measure | Literal["worth"], ...] = ()
    expires_field: Identifier | None = None
    ttl_field: Identifier | None = None
    stale_after_days: Annotated[int, Field(ge=1)] | None = None
    verified_field: Identifier = "last_verified_at"
    text_field: Identifier = "text"
    confidence_field: Identifier = "confidence"
    importance_field: Identifier = "importance"
    evidence_field: Identifier = "evidence"
    id_field: Identifier = "id"
    statements: Statements | None = None
    consolidate: Consolidation | None = None

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures of `trim_by` that are members of an entry."""
        return tuple(measure for measure in self.trim_by if isinstance(measure, Measure))

    @property
    def usual_fields(self) -> frozenset[str]:
        """The members of every entry: its text, its id, and where it comes from."""
        own = (self.text_field, self.id_field)
        return frozenset({*own, self.confidence_field, self.evidence_field, self.verified_field})

    @cached_property
    def place(self) -> json_patch.Pointer:
        """The parsed `section`."""
        return json_patch.pointer(self.section)


def takes_claimants(rules: Iterable[SectionUpkeep]) -> bool:
    """Whether statements of these sections have the code of a claimant."""
    return any(rule.statements is not None and rule.statements.claimed_by_field is not None for rule in rules)
