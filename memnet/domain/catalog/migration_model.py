"""A migration: which documents of a user are made into which, and how. Data, not code.

The shape is the JSON of migrations/<migration_id>.json. Each target is made by its own steps from all sources. Where
the one source and the one target are the same document, the migration makes it into another version of itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from memnet.domain.catalog.rules import DocumentFamily, Identifier, ProfilePart
from memnet.domain.core.access import Reason
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import DocumentKey, UserScope

Step = dict[str, Any]
"""A JSON Patch operation on {"sources": {...}, "content": ...}, or the call of a named function on one place of it."""


class Source(DocumentFamily):
    """A document that a migration reads: its path and its schema version."""

    schema_id: Identifier
    schema_version: Identifier
    required: bool = True


class Target(DocumentFamily):
    """A document that a migration makes, and the steps that make its content, beginning with {}."""

    schema_id: Identifier
    schema_version: Identifier
    steps: Annotated[tuple[Step, ...], Field(min_length=1)]


class Migration(ProfilePart):
    """Sources by the names that steps call them by."""

    migration_id: Identifier
    sources: Annotated[dict[Identifier, Source], Field(min_length=1)]
    targets: Annotated[tuple[Target, ...], Field(min_length=1)]

    @property
    def in_place(self) -> bool:
        """Whether it makes a document into another version of itself."""
        return any(place(target) == place(source) for target in self.targets for source in self.sources.values())

    @property
    def families(self) -> Sequence[DocumentFamily]:
        """All the places that it reads or writes."""
        return (*self.sources.values(), *self.targets)

    def digest(self) -> str:
        """The SHA-256 of what its file says: formatting does not count."""
        return sha256_hex(canonical(self.model_dump(mode="json", exclude_unset=True)))

    def notes(self) -> tuple[str, str, str]:
        """What the audit records of its changes say: made by it, rolled back, source decommissioned."""
        name = f"migration {self.migration_id}"
        return name, f"rollback of {name}", f"decommission by {name}"


@dataclass(frozen=True, slots=True)
class Unit:
    """One user's documents that a migration is about: `value` fills the variable of its templates."""

    scope: UserScope
    value: str | None = None

    def key(self, family: DocumentFamily) -> DocumentKey:
        """The document of a source or a target."""
        return family.resolve(self.scope, self.value if family.variable() else None)


def place(family: DocumentFamily) -> tuple[str, str | None, str | None]:
    """The location of a family: two with the same location are the same documents."""
    return family.namespace, family.path, family.path_template


def unit_of(migration: Migration, key: DocumentKey) -> Unit | None:
    """The unit that the document belongs to; None: the migration is not about it."""
    for family in migration.families:
        if family.covers(key):
            return Unit(key.scope, family.value_in(key))
    return None


def is_noted(record: Record, note: str) -> bool:
    """Whether the record is of a change with this note that an administrator made."""
    return bool(record["reason"] == Reason.ADMIN_MIGRATION.value and record["note"] == note)
