"""The catalog: all profiles, schemas, prompts, cues, rankers and migrations, and their rules for a document."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from json import dumps
from types import MappingProxyType

from memnet.domain.catalog.cue_set import CueSet
from memnet.domain.catalog.migration_model import Migration
from memnet.domain.catalog.path_policy import touches
from memnet.domain.catalog.profile import Binding, Profile
from memnet.domain.catalog.prompt import Prompt
from memnet.domain.catalog.ranker import Ranker
from memnet.domain.catalog.retention_policy import Ceilings, RetentionPolicy
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.catalog.schema import Schema
from memnet.domain.core.access import Role
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import BindingMismatch, BindingNotFound, ProfileForbidden, ProfileNotFound
from memnet.domain.core.json_patch import Pointer, pointer
from memnet.domain.core.scope import Actor, DocumentKey, ETag
from memnet.domain.core.suggestion import did_you_mean, listed


@dataclass(frozen=True, slots=True)
class WriteRules:
    """The rules of a write: a binding of a profile, and its schema."""

    profile: Profile
    binding: Binding
    schema: Schema
    schemas: Mapping[tuple[str, str], Schema] = field(default_factory=dict)
    shared_by: frozenset[str] = frozenset()
    """The other profiles that have the binding from the same base."""

    @property
    def section_rules(self) -> tuple[SectionUpkeep, ...]:
        """The rules of the document's sections."""
        return self.profile.upkeep_rules.get(self.binding.binding_id, ())

    @property
    def writable(self) -> tuple[Pointer, ...]:
        """What clients may write."""
        return self.profile.writable.get(self.binding.binding_id, ())

    @property
    def durable(self) -> tuple[Pointer, ...]:
        """The durable sections."""
        return self.profile.durable.get(self.binding.binding_id, ())

    @property
    def pending_section(self) -> str | None:
        """The section of pending items; None: there is none."""
        return self.profile.pending_sections.get(self.binding.binding_id)

    @property
    def upkept(self) -> tuple[Pointer, ...]:
        """What upkeep may change: the sections with rules, and then the pending section."""
        sections = tuple(rule.place for rule in self.section_rules)
        pending = self.pending_section
        return (*sections, pointer(pending)) if sections and pending is not None else sections

    def at(self, schema_id: str, version: str) -> "WriteRules | None":
        """Return the rules with this schema version or the binding's: the newer, if proven additive to the older."""
        stored = (schema_id, version)
        if stored == (self.schema.schema_id, self.schema.version):
            return self
        if schema_id == self.schema.schema_id:
            if self._is_additive(self.schema, version):
                return self
            newer = self.schemas.get(stored)
            if newer is not None and self._is_additive(newer, self.schema.version):
                return replace(self, schema=newer)
        return None

    def _is_additive(self, newer: Schema, older: str) -> bool:
        passed, found = set[str](), newer
        while found.additive_to is not None and found.version not in passed:
            if found.additive_to == older:
                return True
            passed.add(found.version)
            found = self.schemas.get((found.schema_id, found.additive_to), found)
        return False


def check_binding(key: DocumentKey, profile: Profile, binding: Binding) -> None:
    """Raise BindingMismatch unless the binding covers this document."""
    if binding.covers(key):
        return
    known = listed(other.binding_id for other in profile.document_bindings if other.covers(key))
    suited = f"The binding of this document is {dumps(known[0])}." if known else "No binding of it has this document."
    raise BindingMismatch(
        f"The binding is for the document {binding.place()}, and the path names another.",
        param="/binding_id",
        hint=f"{suited} The profile is {profile.profile_id}.",
        binding_id=binding.binding_id,
        expected=binding.place(),
        known=known,
    )


@dataclass(frozen=True, slots=True)
class Catalog:
    """Profiles and migrations by id; schemas, prompts and rankers by (id, version), cues by (language, version).

    All references are resolved.
    """

    profiles: Mapping[str, Profile]
    schemas: Mapping[tuple[str, str], Schema]
    prompts: Mapping[tuple[str, str], Prompt] = field(default_factory=dict)
    migrations: Mapping[str, Migration] = field(default_factory=dict)
    ceilings: Ceilings = field(default_factory=Ceilings)
    cues: Mapping[tuple[str, str], CueSet] = field(default_factory=dict)
    rankers: Mapping[tuple[str, str], Ranker] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("profiles", "schemas", "prompts", "migrations", "cues", "rankers"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def profile(self, profile_id: str) -> Profile:
        """Return a profile. Raises ProfileNotFound."""
        try:
            return self.profiles[profile_id]
        except KeyError:
            raise ProfileNotFound from None

    def permitted(self, profile_id: str, actor: Actor) -> Profile:
        """Return a profile that `actor` may use. Raises ProfileNotFound, which lists those, and ProfileForbidden."""
        known = [name for name, profile in self.profiles.items() if profile.admits(actor.principal)]
        if profile_id not in self.profiles:
            hint = did_you_mean(profile_id, known)
            raise ProfileNotFound(param="/profile_id", hint=hint, known=listed(known))
        if profile_id not in known:
            raise ProfileForbidden(param="/profile_id", known=listed(known))
        return self.profiles[profile_id]

    def shows(self, profile_id: str, actor: Actor) -> bool:
        """Whether `actor` may see a profile: its principals, administrators, auditors. Raises ProfileNotFound."""
        return bool({Role.ADMIN, Role.AUDIT} & actor.roles) or self.profile(profile_id).admits(actor.principal)

    def inherits(self, profile: Profile, binding_id: str) -> bool:
        """Whether a binding of the profile is one of its base, whose rules for the document it has."""
        base = None if profile.extends is None else self.profiles.get(profile.extends)
        return base is not None and base.binding(binding_id) is not None

    def _owner(self, profile: Profile, binding_id: str) -> str:
        """The id of the profile that defines the binding: the profile, or one that it extends."""
        while profile.extends is not None and self.inherits(profile, binding_id):
            profile = self.profiles[profile.extends]
        return profile.profile_id

    def _shared_by(self, profile: Profile, binding_id: str) -> frozenset[str]:
        """The ids of the other profiles that have the binding from the same profile."""
        owner = self._owner(profile, binding_id)
        others = (one for one in self.profiles.values() if one is not profile and one.binding(binding_id) is not None)
        return frozenset(one.profile_id for one in others if self._owner(one, binding_id) == owner)

    def schema(self, schema_id: str, version: str) -> Schema:
        """Return a schema version. Raises KeyError, but not for that of a binding."""
        return self.schemas[schema_id, version]

    def prompt(self, prompt_id: str, version: str) -> Prompt:
        """Return a prompt version. Raises KeyError, but not for that of a profile."""
        return self.prompts[prompt_id, version]

    def cue_sets(self, profile: Profile) -> list[CueSet]:
        """Return the cues of a profile, in order; none if it sends no phrase to a section."""
        rules = profile.extraction
        return [] if rules is None or not rules.cues else [self.cues[s.language, s.version] for s in rules.cue_sets]

    def retention(self, tenant_id: str) -> RetentionPolicy:
        """Return the retention rules of a tenant."""
        return RetentionPolicy(self.profiles, self.ceilings.of(tenant_id))

    def governance(self, profile_id: str, binding_id: str, actor: Actor, key: DocumentKey) -> WriteRules:
        """Return the rules of a write. Raises ProfileNotFound, ProfileForbidden, BindingNotFound, BindingMismatch."""
        profile = self.permitted(profile_id, actor)
        binding = profile.binding(binding_id)
        if binding is None:
            known = [known.binding_id for known in profile.document_bindings]
            hint = did_you_mean(binding_id, known)
            raise BindingNotFound(param="/binding_id", hint=hint, known=listed(known))
        check_binding(key, profile, binding)
        return self.rules(profile, binding)

    def rules(self, profile: Profile, binding: Binding) -> WriteRules:
        """Return the rules of a binding."""
        schema = self.schema(binding.schema_id, binding.schema_version)
        return WriteRules(profile, binding, schema, self.schemas, self._shared_by(profile, binding.binding_id))

    def covering(self, key: DocumentKey) -> list[WriteRules]:
        """Return the rules of all bindings that cover the document, in the order of profile ids."""
        return [
            self.rules(profile, binding)
            for _, profile in sorted(self.profiles.items())
            for binding in profile.document_bindings
            if binding.covers(key)
        ]


class TextKind(StrEnum):
    """The kinds of texts."""

    PROFILE = "profile"
    SCHEMA = "schema"
    PROMPT = "prompt"
    CUES = "cues"
    RANKER = "ranker"


@dataclass(frozen=True, slots=True)
class TextName:
    """One version of a profile, a schema, a prompt, cues or a ranker."""

    kind: TextKind
    text_id: str
    version: str

    def __str__(self) -> str:
        return f"{self.kind} {self.text_id} {self.version}"

    @property
    def blob_name(self) -> str:
        """The name of the blob that stores the text."""
        return f"catalog/{self.kind}/{self.text_id}/{self.version}.json"


def texts_of(catalog: Catalog) -> dict[TextName, bytes]:
    """The canonical JSON of every version in the catalog; the text of a prompt is a JSON string."""
    profiles = {TextName(TextKind.PROFILE, p.profile_id, p.version): p.text for p in catalog.profiles.values()}
    schemas = {TextName(TextKind.SCHEMA, *key): canonical(schema.body) for key, schema in catalog.schemas.items()}
    prompts = {TextName(TextKind.PROMPT, *key): canonical(prompt.text) for key, prompt in catalog.prompts.items()}
    cues = {TextName(TextKind.CUES, *key): found.file.text for key, found in catalog.cues.items()}
    rankers = {TextName(TextKind.RANKER, *key): ranker.file.text for key, ranker in catalog.rankers.items()}
    return {**profiles, **schemas, **prompts, **cues, **rankers}


@dataclass(frozen=True, slots=True)
class ProtectedSections:
    """The sections of a document that any profile declares durable or pending. All upkeep respects them."""

    durable: tuple[Pointer, ...]
    pending: tuple[str, ...]
    etag: ETag | None = None
    """The version under upkeep."""

    def is_durable(self, section: str) -> bool:
        """Whether a part of the section is durable in any profile."""
        return any(touches(pointer(section), durable) for durable in self.durable)


def protected_sections(catalog: Catalog, key: DocumentKey, etag: ETag | None = None) -> ProtectedSections:
    """Return the sections of the document that any profile declares durable or pending."""
    found = catalog.covering(key)
    durable = [section for rules in found for section in rules.durable]
    pending = [rules.pending_section for rules in found if rules.pending_section is not None]
    return ProtectedSections(tuple(dict.fromkeys(durable)), tuple(dict.fromkeys(pending)), etag)
