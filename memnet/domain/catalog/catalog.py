"""The catalog: every profile, schema version and prompt this service works by, fixed from its start to its end."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from memnet.domain.catalog.migration_model import Migration
from memnet.domain.catalog.path_policy import touches
from memnet.domain.catalog.profile import Binding, Profile
from memnet.domain.catalog.prompt import Prompt
from memnet.domain.catalog.retention_policy import Ceilings, RetentionPolicy
from memnet.domain.catalog.schema import Schema
from memnet.domain.core.access import Role
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import BindingMismatch, BindingNotFound, ProfileForbidden, ProfileNotFound
from memnet.domain.core.json_patch import Pointer, pointer
from memnet.domain.core.scope import Actor, DocumentKey, ETag


@dataclass(frozen=True, slots=True)
class WriteRules:
    """The rules a write is decided by: one profile's binding and its schema."""

    profile: Profile
    binding: Binding
    schema: Schema
    schemas: Mapping[tuple[str, str], Schema] = field(default_factory=dict)
    """The schema versions that are known, by id and version."""

    def at(self, schema_id: str, version: str) -> "WriteRules | None":
        """The rules for a document under this schema version: by the newer of that version and the binding's.

        None unless they are the same, or the newer is proven additive to the older, directly or over versions between.
        """
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


def check_binding(key: DocumentKey, binding: Binding) -> None:
    """Raise BindingMismatch unless the binding is about this document."""
    if not binding.covers(key):
        raise BindingMismatch(binding_id=binding.binding_id)


@dataclass(frozen=True, slots=True)
class Catalog:
    """Profiles and migrations by id; schemas and prompts by (id, version). What one names is among them."""

    profiles: Mapping[str, Profile]
    schemas: Mapping[tuple[str, str], Schema]
    prompts: Mapping[tuple[str, str], Prompt] = field(default_factory=dict)
    migrations: Mapping[str, Migration] = field(default_factory=dict)
    ceilings: Ceilings = field(default_factory=Ceilings)

    def __post_init__(self) -> None:
        object.__setattr__(self, "profiles", MappingProxyType(dict(self.profiles)))
        object.__setattr__(self, "schemas", MappingProxyType(dict(self.schemas)))
        object.__setattr__(self, "prompts", MappingProxyType(dict(self.prompts)))
        object.__setattr__(self, "migrations", MappingProxyType(dict(self.migrations)))

    def profile(self, profile_id: str) -> Profile:
        """The profile of that id. Raises ProfileNotFound."""
        try:
            return self.profiles[profile_id]
        except KeyError:
            raise ProfileNotFound from None

    def shows(self, profile_id: str, actor: Actor) -> bool:
        """Whether `actor` may know a profile: who may use it, administrators and auditors. Raises ProfileNotFound."""
        return bool({Role.ADMIN, Role.AUDIT} & actor.roles) or self.profile(profile_id).admits(actor.principal)

    def schema(self, schema_id: str, version: str) -> Schema:
        """That version of the schema. Raises KeyError: a binding's own is always there."""
        return self.schemas[schema_id, version]

    def prompt(self, prompt_id: str, version: str) -> Prompt:
        """That version of the prompt. Raises KeyError: the one a profile names is always there."""
        return self.prompts[prompt_id, version]

    def retention(self, tenant_id: str) -> RetentionPolicy:
        """How long a tenant's records are kept."""
        return RetentionPolicy(self.profiles, self.ceilings.of(tenant_id))

    def governance(self, profile_id: str, binding_id: str, actor: Actor, key: DocumentKey) -> WriteRules:
        """The rules for what `actor` writes to the document through the binding.

        Raises ProfileNotFound, ProfileForbidden, BindingNotFound, BindingMismatch.
        """
        profile = self.profile(profile_id)
        if not profile.admits(actor.principal):
            raise ProfileForbidden
        binding = profile.binding(binding_id)
        if binding is None:
            raise BindingNotFound
        check_binding(key, binding)
        return self.rules(profile, binding)

    def rules(self, profile: Profile, binding: Binding) -> WriteRules:
        """The rules of a profile's binding."""
        return WriteRules(profile, binding, self.schema(binding.schema_id, binding.schema_version), self.schemas)

    def covering(self, key: DocumentKey) -> list[WriteRules]:
        """The rules of every profile for the document, in the order of the profiles' ids."""
        return [
            self.rules(profile, binding)
            for _, profile in sorted(self.profiles.items())
            for binding in profile.document_bindings
            if binding.covers(key)
        ]


class TextKind(StrEnum):
    """The kind of a text."""

    PROFILE = "profile"
    SCHEMA = "schema"
    PROMPT = "prompt"


@dataclass(frozen=True, slots=True)
class TextName:
    """One version of a profile, a schema or a prompt."""

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
    return {**profiles, **schemas, **prompts}


@dataclass(frozen=True, slots=True)
class ProtectedSections:
    """The durable and pending sections of a document, of all profiles that cover it: the upkeep of one profile must not
    harm what another declares.
    """

    durable: tuple[Pointer, ...]
    pending: tuple[str, ...]
    etag: ETag | None = None
    """The version under upkeep."""

    def is_durable(self, section: str) -> bool:
        """Whether something in the section is durable to some profile."""
        return any(touches(pointer(section), durable) for durable in self.durable)


def protected_sections(catalog: Catalog, key: DocumentKey, etag: ETag | None = None) -> ProtectedSections:
    """Return the sections of the document that any profile declares durable or pending."""
    found = catalog.covering(key)
    durable = [d for r in found for d in r.profile.durable.get(r.binding.binding_id, ())]
    pending = [s for r in found if (s := r.profile.pending_sections.get(r.binding.binding_id)) is not None]
    return ProtectedSections(tuple(dict.fromkeys(durable)), tuple(dict.fromkeys(pending)), etag)
