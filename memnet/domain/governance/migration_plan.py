"""Plan a migration of one unit from the stored versions of its documents alone.

There is no record of progress: whether a document is made already is said by its own audit records, so a run that was
interrupted is resumed by another one, and any number of runs come to the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import jsonpatch
import orjson

from memnet.domain.catalog.catalog import Catalog, WriteRules
from memnet.domain.catalog.migration_model import Migration, Source, Target, Unit, place
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
    """The state of a target in its migration."""

    CREATE = "create"
    REPLACE = "replace"
    DONE = "done"
    CHANGED = "changed_since"
    """It was made by the migration, and others have written to it since: it stays as it is."""
    POSTPONED = "postponed"
    """Others were faster every time."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Trace:
    """The first and the newest change of a migration in a document's records since its last rollback."""

    first: Record | None = None
    newest: Record | None = None


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document as it was read."""

    key: DocumentKey
    head: Envelope | None
    trace: Trace = field(default_factory=Trace)
    decommissioned: bool = False
    """Whether the migration's own decommission deleted it."""

    @property
    def live(self) -> Envelope | None:
        """The newest version; None if there is no document or it is deleted."""
        return None if self.head is None or self.head.deleted else self.head


@dataclass(frozen=True, slots=True)
class Gathered:
    """The documents of one unit: sources by name, targets in the order of the migration."""

    sources: Mapping[str, FoundDocument]
    targets: Sequence[FoundDocument]


@dataclass(frozen=True, slots=True)
class MigrationDecision:
    """The decision for one target. `command` and `rules` are set if it is to be written."""

    key: DocumentKey
    standing: MigrationAction
    before: Json = None
    after: Json = None
    command: ReplaceDocument | None = None
    rules: WriteRules | None = None
    problem: str | None = None


class NotMigratable(Exception):
    """The documents are not what the migration makes something of; the text says why, without content."""


def decide(
    migration: Migration, unit: Unit, gathered: Gathered, catalog: Catalog, actor: Actor
) -> list[MigrationDecision]:
    """One decision a target; none if there is no source, so nothing to migrate."""
    live = {name: found.live for name, found in gathered.sources.items()}
    if not any(live.values()):
        return []
    decisions = []
    for target, found in zip(migration.targets, gathered.targets, strict=True):
        head = found.live
        if migration.in_place and head and is_beyond(target, head, catalog):
            decisions.append(MigrationDecision(found.key, MigrationAction.DONE))
            continue
        try:
            content = make(target, upgraded(migration, documents_of(gathered), catalog))
            decisions.append(_decide(migration, target, found, content, gathered, catalog, actor))
        except (NotMigratable, MemnetError) as error:
            decisions.append(MigrationDecision(found.key, MigrationAction.FAILED, problem=problem_of(error)))
    return decisions


def _decide(
    migration: Migration,
    target: Target,
    found: FoundDocument,
    content: Json,
    gathered: Gathered,
    catalog: Catalog,
    actor: Actor,
) -> MigrationDecision:
    head, newest = found.live, found.trace.newest
    before = head.content if head else None
    if not migration.in_place:
        touched = newest is not None and found.head is not None and newest["sequence"] != found.head.commit.sequence
        if newest is not None and newest["content_hash"] == sha256_hex(canonical(content)):
            return MigrationDecision(found.key, MigrationAction.CHANGED if touched else MigrationAction.DONE)
        if touched:
            raise NotMigratable("both it and its source were changed since it was migrated")
        if head is not None and newest is None:
            if canonical(before) == canonical(content) and _schema(head) == _named(target):
                return MigrationDecision(found.key, MigrationAction.DONE)
            raise NotMigratable("it exists, and was not made by the migration")
    command, rules = _command(migration, target, found, content, gathered, catalog, actor)
    standing = MigrationAction.REPLACE if head else MigrationAction.CREATE
    return MigrationDecision(found.key, standing, before, content, command, rules)


def documents_of(gathered: Gathered) -> dict[str, Json]:
    """The sources that are there, as clients see them."""
    return {name: orjson.loads(visible(head)) for name, found in gathered.sources.items() if (head := found.live)}


def upgraded(migration: Migration, documents: Mapping[str, Json], catalog: Catalog) -> dict[str, Json]:
    """The sources in the versions that the migration reads, older ones led there by the migrations before it.

    Raises NotMigratable, and what `make` raises.
    """
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
    """Whether the document has the target's version, or one that later migrations lead to from there."""
    try:
        _chain(target, (head.schema_id, head.schema_version), _named(target), catalog)
    except NotMigratable:
        return False
    return True


def _chain(
    family: DocumentFamily, wanted: tuple[str, str], stored: tuple[str, str], catalog: Catalog
) -> list[Migration]:
    """The migrations, in order, that lead a document of the family from its stored version to the one wanted."""
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


def _command(
    migration: Migration,
    target: Target,
    found: FoundDocument,
    content: Json,
    gathered: Gathered,
    catalog: Catalog,
    actor: Actor,
) -> tuple[ReplaceDocument, WriteRules]:
    """The write, once every profile that covers the document takes its content."""
    covering = catalog.covering(found.key)
    if not covering:
        raise NotMigratable("no binding of a profile covers it")
    admitting = next((rules for rules in covering if rules.profile.admits(actor.principal)), None)
    if admitting is None:
        raise ProfileForbidden
    head = found.live
    command = ReplaceDocument(
        key=found.key,
        actor=actor,
        precondition=IfMatch(head.commit.etag) if head else IfAbsent(),
        idempotency_key=_idempotency_key(migration, found, gathered),
        profile_id=admitting.profile.profile_id,
        binding_id=admitting.binding.binding_id,
        schema_id=target.schema_id,
        schema_version=target.schema_version,
        content=content,
        note=migration.notes()[0],
        evidence={"migration": migration.migration_id, "definition": migration.digest(), "sources": _read(gathered)},
    )
    for rules in covering:
        decide_replacement(command, rules, head)
    return command, admitting


def _read(gathered: Gathered) -> dict[str, Json]:
    """Which versions the target is made of."""
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


def _idempotency_key(migration: Migration, found: FoundDocument, gathered: Gathered) -> str:
    """One for each version of the migration, of its sources and of what it writes over."""
    sequence = found.head.commit.sequence if found.head else 0
    seed = canonical([migration.digest(), _read(gathered), sequence])
    return f"{migration.migration_id}-{sequence}-{sha256_hex(seed)[:KEY_CHARS]}"


def difference(decision: MigrationDecision) -> list[Op]:
    """The operations that lead from what is there to what would be."""
    if decision.standing is MigrationAction.CREATE:
        return [{"op": "add", "path": f"/{ROOT}", "value": decision.after}]
    ops: list[Op] = jsonpatch.make_patch({ROOT: decision.before}, {ROOT: decision.after}).patch
    return ops


def problem_of(error: Exception) -> str:
    """The refusal as a line."""
    if isinstance(error, MemnetError):
        details = f" {canonical(error.details).decode()}" if error.details else ""
        return f"{error.code}: {error.message}{details}"
    return str(error)


def _schema(head: Envelope) -> tuple[str, str]:
    return head.schema_id, head.schema_version


def _named(part: Source | Target) -> tuple[str, str]:
    return part.schema_id, part.schema_version
