"""A profile: data that describes which documents a product sees, their rules, and what it may write.

It is the JSON of profiles/<profile_id>.json. Omitted members default to the strictest choice: no writable path, no
durable section, no redirection.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from memnet.domain.catalog.path_policy import DeniedFields
from memnet.domain.catalog.recall_rules import RecallRules, SectionRendering
from memnet.domain.catalog.rule_types import (
    CatalogFile,
    Confidence,
    Days,
    DeniedField,
    Duration,
    Identifier,
    Pointer,
    ProfilePart,
)
from memnet.domain.catalog.rules import (
    DocumentFamily,
    ExtractionRules,
    SectionUpkeep,
    SensitiveContent,
    Share,
    takes_claimants,
)
from memnet.domain.catalog.statement_rules import Corroboration
from memnet.domain.catalog.turn_rules import TurnRules
from memnet.domain.core import json_patch


class Binding(DocumentFamily):
    """One document, or one family of documents, and its limits."""

    binding_id: Identifier
    schema_id: Identifier
    schema_version: Identifier
    max_chars: Annotated[int, Field(ge=2)]
    read_priority: int
    write_mode: Literal["restricted_patch", "read_only"] = "restricted_patch"
    initial_content: dict[str, object] | None = None


class ConfidenceRules(ProfilePart):
    """Thresholds in 0..1; a write without a confidence is below every threshold."""

    min_confidence_for_durable_fact: Confidence = 0.0
    min_confidence_for_auto_apply: Confidence = 0.0


class RetentionRules(ProfilePart):
    """Days that each kind of item is kept; None: the maximum of the organisation."""

    snapshots_days: Days | None = None
    events_days: Days | None = None
    audit_days: Days | None = None
    jobs_days: Days | None = None


class RoutingRules(ProfilePart):
    """The entries that routing selects from, their members, and the thresholds of a selection.

    `min_score` is for words. For similarity, the best candidate must reach `semantic_threshold` and lead by
    `semantic_margin`; if no words match, it must reach `semantic_when_unmatched` (None: similarity is not used).
    """

    source_binding: Identifier
    entries: Pointer
    id_field: str
    alias_fields: tuple[str, ...] = ()
    keyword_fields: tuple[str, ...] = ()
    description_fields: tuple[str, ...] = ()
    min_score: Confidence = 0.5
    semantic_threshold: Confidence = 0.15
    semantic_margin: Confidence = 0.05
    semantic_when_unmatched: Confidence | None = None


class Profile(CatalogFile):
    """A product's view of a user's memory. Mappings are by binding_id."""

    profile_id: Identifier
    version: Identifier = "1.0.0"
    extends: Identifier | None = None
    """The base. A profile of the catalog is joined with it already; the name says from where it is."""
    document_bindings: Annotated[tuple[Binding, ...], Field(min_length=1)]
    writable_path_rules: dict[str, tuple[Pointer, ...]] = Field(default_factory=dict)
    denied_fields: tuple[DeniedField, ...] = ()
    sensitive_content: SensitiveContent = SensitiveContent()
    durable_sections: dict[str, tuple[Pointer, ...]] = Field(default_factory=dict)
    pending_sections: dict[str, Pointer] = Field(default_factory=dict)
    confirmed_by: Literal["another_principal", "anyone"] = "another_principal"
    retracted_by: Literal["another_principal", "anyone"] = "anyone"
    durable_writes: Literal["confident", "confirmed_only"] = "confident"
    max_ops: Annotated[int, Field(ge=1, le=1000)] = 50
    allowed_principals: tuple[str, ...] | None = None
    retention_rules: RetentionRules = RetentionRules()
    confidence_rules: ConfidenceRules = ConfidenceRules()
    compaction_rules: dict[str, dict[str, Annotated[int, Field(ge=0)]]] = Field(default_factory=dict)
    routing: RoutingRules | None = None
    extraction: ExtractionRules | None = None
    upkeep_rules: dict[str, tuple[SectionUpkeep, ...]] = Field(default_factory=dict)
    upkeep_fill: Share = 0.8
    ttl_classes: dict[str, Duration] = Field(default_factory=dict)
    guidance_sections: dict[str, tuple[Pointer, ...]] = Field(default_factory=dict)
    turns: TurnRules | None = None
    corroboration: Corroboration | None = None
    recall: RecallRules = RecallRules()
    rendering: tuple[SectionRendering, ...] = ()

    @cached_property
    def writable(self) -> Mapping[str, tuple[json_patch.Pointer, ...]]:
        """The parsed `writable_path_rules`."""
        return _parsed(self.writable_path_rules)

    @cached_property
    def durable(self) -> Mapping[str, tuple[json_patch.Pointer, ...]]:
        """The parsed `durable_sections`."""
        return _parsed(self.durable_sections)

    @cached_property
    def pending(self) -> Mapping[str, json_patch.Pointer]:
        """The parsed `pending_sections`."""
        return {binding_id: json_patch.pointer(section) for binding_id, section in self.pending_sections.items()}

    @cached_property
    def denied(self) -> DeniedFields:
        """The parsed `denied_fields`."""
        return DeniedFields.parse(self.denied_fields)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy as pydantic does, but without the cached properties, which depend on the members."""
        copied = super().model_copy(update=update, deep=deep)
        for name in _CACHED:
            copied.__dict__.pop(name, None)
        return copied

    def binding(self, binding_id: str) -> Binding | None:
        """The binding of that id, or None."""
        return next((b for b in self.document_bindings if b.binding_id == binding_id), None)

    def admits(self, principal: str) -> bool:
        """Whether this principal may use the profile: any, unless it lists its principals."""
        return self.allowed_principals is None or principal in self.allowed_principals

    def takes_claimants(self, binding_id: str) -> bool:
        """Whether statements of this binding have the code of a claimant."""
        return takes_claimants(self.upkeep_rules.get(binding_id, ()))

    def array_limits(self, binding_id: str) -> dict[str, int]:
        """Return the maximum length of arrays by top-level member ("max_<name>" in the rules)."""
        rules = self.compaction_rules.get(binding_id, {})
        return {rule.removeprefix("max_"): length for rule, length in rules.items()}


_CACHED = ("text", "sha256", "writable", "durable", "pending", "denied")


def _parsed(rules: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[json_patch.Pointer, ...]]:
    return {binding_id: tuple(map(json_patch.pointer, texts)) for binding_id, texts in rules.items()}
