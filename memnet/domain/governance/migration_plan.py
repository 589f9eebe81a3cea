"""Plan the migration of one unit from the stored versions of its documents.

A migration stores no progress: the audit records of a document show whether it is migrated. The next run continues an
interrupted one, and a repeated run writes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import jsonpatch
import orjson

from memnet.domain.catalog.catalog import Catalog, WriteRules
from memnet.domain.catalog.migration_model import Migration, Source, Target, place
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.rules import DocumentFamily
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import MemnetError, ProfileForbidden, SchemaViolation
from memnet.domain.core.json_patch import Op
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import Actor, DocumentKey, Json
from memnet.domain.documents.commands import IfAbsent, IfMatch, ReplaceDocument
from memnet.domain.documents.envelope import Envelope, visible
from memnet.domain.documents.write_decision import decide_replacement
from memnet.domain.governance.migration_functions import make

KEY_CHARS = 16


class MigrationAction(StrEnum):
    """The action on a target, or the reason for none."""

    CREATE = "create"
    REPLACE = "replace"
    DONE = "done"
    CHANGED = "changed_since"
    """The migration made it, and others have written to it since: it is left unchanged."""
    POSTPONED = "postponed"
    """Another writer was faster at each attempt."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Trace:
    """The first and the newest change of a migration in a document's records since its last rollback."""

    first: Record | None = None
    newest: Record | None = None


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A stored document, and the migration's changes in its records."""

    key: DocumentKey
    head: Envelope | None
    trace: Trace = field(default_factory=Trace)
    decommissioned: bool = False

    @property
    def live(self) -> Envelope | None:
        """The current version; None if the document does not exist or is deleted."""
        return None if self.head is None or self.head.deleted else self.head

    @property
    def is_changed(self) -> bool:
        """Whether others have written to it since the migration made it."""
        newest = self.trace.newest
        return newest is not None and self.head is not None and newest["sequence"] != self.head.commit.sequence


@dataclass(frozen=True, slots=True)
class Gathered:
    """The documents of one unit: sources by name, targets in the order of the migration."""

    sources: Mapping[str, FoundDocument]
    targets: Sequence[FoundDocument]


@dataclass(frozen=True, slots=True)
class MigrationDecision:
    """The decision for one target. `command` and `rules` are set if it must be written."""

    key: DocumentKey
    action: MigrationAction
    before: Json = None
    after: Json = None
    command: ReplaceDocument | None = None
    rules: WriteRules | None = None
    problem: str | None = None


class NotMigratable(Exception):
    """The documents cannot be migrated; the text says why, without content."""


def decide(migration: Migration, gathered: Gathered, catalog: Catalog, actor: Actor) -> list[MigrationDecision]:
    """Return one decision for each target, or none if no source exists."""
    if not any(found.live for found in gathered.sources.values()):
        return []
    planner = _Planner(migration, gathered, catalog, actor)
    decisions = []
    for target, found in zip(migration.targets, gathered.targets, strict=True):
        try:
            decisions.append(planner.decide(target, found))
        except (NotMigratable, MemnetError) as error:
            decisions.append(MigrationDecision(found.key, MigrationAction.FAILED, problem=problem_of(error)))
    return decisions


@dataclass(frozen=True, slots=True)
class _Planner:
    migration: Migration
    gathered: Gathered
    catalog: Catalog
    actor: Actor

    def decide(self, target: Target, found: FoundDocument) -> MigrationDecision:
        """Raises NotMigratable, and the errors of a refused write."""
        head, newest = found.live, found.trace.newest
        if self.migration.in_place and head and is_beyond(target, head, self.catalog):
            return MigrationDecision(found.key, MigrationAction.DONE)
        content = make(target, upgraded(self.migration, documents_of(self.gathered), self.catalog))
        before = head.content if head else None
        if not self.migration.in_place:
            if newest is not None and newest["content_hash"] == sha256_hex(canonical(content)):
                done = MigrationAction.CHANGED if found.is_changed else MigrationAction.DONE
                return MigrationDecision(found.key, done)
            if found.is_changed:
                raise NotMigratable("both it and its source were changed since it was migrated")
            if head is not None and newest is None:
                if canonical(before) == canonical(content) and _schema(head) == _named(target):
                    return MigrationDecision(found.key, MigrationAction.DONE)
                raise NotMigratable("it exists, and was not made by the migration")
        command, rules = self._command(target, found, content)
        action = MigrationAction.REPLACE if head else MigrationAction.CREATE
        return MigrationDecision(found.key, action, before, content, command, rules)

    def _command(self, target: Target, found: FoundDocument, content: Json) -> tuple[ReplaceDocument, WriteRules]:
        """Return the write, after checking it under the rules of every profile that covers the document."""
        covering = self.catalog.covering(found.key)
        if not covering:
            raise NotMigratable("no binding of a profile covers it")
        admitting = next((rules for rules in covering if rules.profile.admits(self.actor.principal)), None)
        if admitting is None:
            raise ProfileForbidden
        head, digest = found.live, self.migration.digest()
        # The key is the same for the same versions of the migration, of its sources and of the replaced document.
        sequence = found.head.commit.sequence if found.head else 0
        sources = _versions(self.gathered)
        seed = sha256_hex(canonical([digest, sources, sequence]))
        command = ReplaceDocument(
            key=found.key,
            actor=self.actor,
            precondition=IfMatch(head.commit.etag) if head else IfAbsent(),
            idempotency_key=f"{self.migration.migration_id}-{sequence}-{seed[:KEY_CHARS]}",
            profile_id=admitting.profile.profile_id,
            binding_id=admitting.binding.binding_id,
            schema_id=target.schema_id,
            schema_version=target.schema_version,
            content=content,
            note=self.migration.notes()[0],
            evidence={"migration": self.migration.migration_id, "definition": digest, "sources": sources},
        )
        for rules in covering:
            decide_replacement(command, rules, head)
        return command, admitting


def _versions(gathered: Gathered) -> dict[str, Json]:
    return {
        name: {
            "namespace": found.key.namespace,
            "path": found.key.path,
            "etag": head.commit.etag,
            "change_id": head.change_id(head.commit.sequence),
        }
        for name, found in gathered.sources.items()
        if (head := found.live)
    }


def documents_of(gathered: Gathered) -> dict[str, Json]:
    """Return the existing sources, as clients see them."""
    return {name: orjson.loads(visible(head)) for name, found in gathered.sources.items() if (head := found.live)}


def upgraded(migration: Migration, documents: Mapping[str, Json], catalog: Catalog) -> dict[str, Json]:
    """Return the sources in the versions to read, upgraded by earlier migrations. Raises NotMigratable, as `make`."""
    missing = sorted(name for name, source in migration.sources.items() if source.required and name not in documents)
    if missing:
        raise NotMigratable(f"there is no source {', '.join(missing)}")
    return {name: _upgraded(migration.sources[name], document, catalog) for name, document in documents.items()}


def _upgraded(source: Source, document: Json, catalog: Catalog) -> Json:
    stored = (document["schema_id"], document["schema_version"])
    for migration in _chain(source, _named(source), stored, catalog):
        (name,), (target,) = migration.sources, migration.targets
        content = make(target, {name: document})
        violations = catalog.schema(*_named(target)).violations(content)
        if violations:
            raise SchemaViolation(**violations.details(f"/{ROOT}"), migration=migration.migration_id)
        schema = {"schema_id": target.schema_id, "schema_version": target.schema_version}
        document = {**document, **schema, ROOT: content}
    return document


def is_beyond(target: Target, head: Envelope, catalog: Catalog) -> bool:
    """Return whether the document has the target's version, or one that later migrations make of it."""
    try:
        _chain(target, (head.schema_id, head.schema_version), _named(target), catalog)
    except NotMigratable:
        return False
    return True


def _chain(
    family: DocumentFamily, wanted: tuple[str, str], stored: tuple[str, str], catalog: Catalog
) -> list[Migration]:
    """Return the migrations, in order, that make the wanted version of a document from its stored version."""
    steps = {
        _named(m.targets[0]): m
        for m in catalog.migrations.values()
        if m.in_place and place(m.targets[0]) == place(family)
    }
    chain, last = list[Migration](), wanted
    while wanted != stored:
        step = steps.pop(wanted, None)
        if step is None:
            raise NotMigratable(f"no migration leads from {'/'.join(stored)} to {'/'.join(last)}")
        chain.insert(0, step)
        wanted = _named(next(iter(step.sources.values())))
    return chain


def difference(decision: MigrationDecision) -> list[Op]:
    """Return the operations that change the stored content into the migrated one."""
    if decision.action is MigrationAction.CREATE:
        return [{"op": "add", "path": f"/{ROOT}", "value": decision.after}]
    ops: list[Op] = jsonpatch.make_patch({ROOT: decision.before}, {ROOT: decision.after}).patch
    return ops


def problem_of(error: Exception) -> str:
    """Return the problem as one line."""
    if isinstance(error, MemnetError):
        details = f" {canonical(error.details).decode()}" if error.details else ""
        return f"{error.code}: {error.message}{details}"
    return str(error)


def _schema(head: Envelope) -> tuple[str, str]:
    return head.schema_id, head.schema_version


def _named(part: Source | Target) -> tuple[str, str]:
    return part.schema_id, part.schema_version
