"""The rules that decide a write: one binding of a profile, and its schema."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from memnet.domain.catalog.profile import Binding, Profile
from memnet.domain.catalog.schema import Schema
from memnet.domain.core.errors import BindingMismatch
from memnet.domain.core.scope import DocumentKey


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
