"""The catalog: every profile, schema version and prompt this service works by, fixed from its start to its end."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from memnet.domain.catalog.migration_model import Migration
from memnet.domain.catalog.profile import Binding, Profile
from memnet.domain.catalog.prompt import Prompt
from memnet.domain.catalog.retention_policy import Ceilings, RetentionPolicy
from memnet.domain.catalog.schema import Schema
from memnet.domain.catalog.write_rules import WriteRules, check_binding
from memnet.domain.core.access import Role
from memnet.domain.core.errors import BindingNotFound, ProfileForbidden, ProfileNotFound
from memnet.domain.core.scope import Actor, DocumentKey


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
