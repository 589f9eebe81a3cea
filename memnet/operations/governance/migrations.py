"""Find the units of a migration, and migrate, verify, roll back and decommission one unit."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial

import orjson

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.catalog.migration_model import Migration, Target, Unit, is_noted, unit_of
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import (
    DocumentExists,
    DocumentNotFound,
    ErasureRunning,
    ETagMismatch,
    HistoryCorrupt,
    IdempotencyKeyReused,
    MemnetError,
    Unavailable,
    VaultUnavailable,
    VersionNotFound,
)
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import Actor, DocumentKey, Json, UserScope
from memnet.domain.documents import envelope
from memnet.domain.documents.envelope import Envelope
from memnet.domain.documents.write_decision import decide_replacement
from memnet.domain.governance.migration_functions import make
from memnet.domain.governance.migration_plan import (
    FoundDocument,
    Gathered,
    MigrationAction,
    MigrationDecision,
    NotMigratable,
    Trace,
    decide,
    documents_of,
    is_beyond,
    problem_of,
    upgraded,
)
from memnet.domain.governance.migration_rollback import (
    Return,
    changed_since,
    decommissioning,
    removal,
    restoration,
    returns,
)
from memnet.operations.documents.read import get_document
from memnet.operations.documents.write import commit_change, delete_document
from memnet.paging import rows
from memnet.service import Service
from memnet.stores import ListedDocument, StoredHistory, read_records, stream_records

ATTEMPTS = 20
"""An attempt fails only if another writer was faster."""
LOST_RACES = (ETagMismatch, DocumentExists, DocumentNotFound, IdempotencyKeyReused, ErasureRunning)


async def find_migration_units(
    migration: Migration, service: Service, *, tenant_id: str | None, user_id: str | None
) -> Sequence[Unit]:
    """Return the units of one user, of one tenant, or of all, in the order of their documents' names.

    A deleted document counts: a decommission may have deleted it. Raises InvalidIdentifier, Unavailable.
    """
    units: dict[Unit, None] = {}
    async for row in _rows(migration, tenant_id, user_id, service):
        unit = unit_of(migration, row.key)
        if unit is not None and tenant_id in (None, unit.scope.tenant_id):
            units[unit] = None
    return list(units)


async def _rows(
    migration: Migration, tenant_id: str | None, user_id: str | None, service: Service
) -> AsyncIterator[ListedDocument]:
    if tenant_id is None or user_id is None:
        async for row in rows(service.documents.list_all):
            yield row
        return
    scope = UserScope(tenant_id, user_id)
    for namespace in sorted({family.namespace for family in migration.families}):
        async for row in rows(partial(service.documents.list, scope, f"{namespace}/")):
            yield row


class Depth(IntEnum):
    """How far back the records of the targets are read."""

    NOTHING = 0
    NEWEST = 1
    """Back to the migration's newest change."""
    FIRST = 2
    """Back to its first change since the last rollback."""


async def read_migration_unit(unit: Unit, migration: Migration, depth: Depth, service: Service) -> Gathered:
    """Read the sources, then the targets, so that no target is older than the source it was made from.

    A record that retention has deleted, or that is corrupt, ends a trace as the first record does. Raises
    HistoryCorrupt for an unreadable document, VaultUnavailable, Unavailable.
    """
    sources = await asyncio.gather(
        *(_source(unit.key(source), migration, service) for source in migration.sources.values())
    )
    targets = await asyncio.gather(
        *(_target(unit.key(target), migration, depth, service) for target in migration.targets)
    )
    return Gathered(dict(zip(migration.sources, sources, strict=True)), targets)


async def _current(key: DocumentKey, service: Service) -> Envelope | None:
    stored = await service.documents.get(key)
    return envelope.load(stored.data) if stored else None


async def _source(key: DocumentKey, migration: Migration, service: Service) -> FoundDocument:
    head = await _current(key, service)
    if head is None or not head.deleted:
        return FoundDocument(key, head)
    last = head.commit.sequence
    try:
        (record,) = await read_records(key.scope, head, last, last, audit=service.audit)
    except HistoryCorrupt:
        return FoundDocument(key, head)
    return FoundDocument(key, head, decommissioned=is_noted(record, migration.notes()[2]))


async def _target(key: DocumentKey, migration: Migration, depth: Depth, service: Service) -> FoundDocument:
    head = await _current(key, service)
    if head is None or depth is Depth.NOTHING:
        return FoundDocument(key, head)
    return FoundDocument(key, head, await _trace(key, head, migration, depth, service))


async def _trace(key: DocumentKey, head: Envelope, migration: Migration, depth: Depth, service: Service) -> Trace:
    made, rolled_back, _ = migration.notes()
    first: Record | None = None
    newest: Record | None = None
    history: StoredHistory | None = None
    last, is_whole = head.commit.sequence, False
    while last > 0:
        # The newest record alone, then whole segments; the records of one that is corrupt singly.
        if is_whole and history is None:
            history = await service.audit.history(key.scope, head.doc_id)
        begin = last if history is None or not is_whole else history.segment_of(last) or last
        found = stream_records(key.scope, head, begin, last, audit=service.audit, history=history)
        try:
            records = [record async for record in found]
        except HistoryCorrupt:
            if begin == last:
                return Trace(first, newest)
            is_whole = False
            continue
        for record in reversed(records):
            if is_noted(record, rolled_back):
                return Trace(first, newest)
            if is_noted(record, made):
                first, newest = record, newest or record
                if depth is Depth.NEWEST:
                    return Trace(first, newest)
        last, is_whole = begin - 1, True
    return Trace(first, newest)


async def migrate_unit(
    unit: Unit, migration: Migration, service: Service, *, actor: Actor, dry_run: bool = False
) -> list[MigrationDecision]:
    """Write every target that is not migrated, each exactly once, and return one decision for each.

    If one target fails, none is written. A source that changes meanwhile is migrated in its new version. A dry run
    writes nothing and returns what a run would write. Raises HistoryCorrupt, VaultUnavailable, Unavailable.
    """
    depth = Depth.NOTHING if migration.in_place else Depth.NEWEST
    written: dict[DocumentKey, MigrationDecision] = {}
    decisions: list[MigrationDecision] = []
    for _ in range(ATTEMPTS):
        gathered = await read_migration_unit(unit, migration, depth, service)
        decisions = decide(migration, gathered, service.catalog, actor)
        has_failed = any(decision.action is MigrationAction.FAILED for decision in decisions)
        if dry_run or has_failed or not any(decision.command for decision in decisions):
            found = [_blocked(decision) if has_failed else decision for decision in decisions]
            return [written.get(one.key, one) if one.action is MigrationAction.DONE else one for one in found]
        try:
            for decision in decisions:
                if decision.command is not None and decision.rules is not None:
                    await commit_change(
                        decision.command, partial(decide_replacement, decision.command, decision.rules), service
                    )
                    written[decision.key] = decision
        except LOST_RACES:
            continue
    return [replace(d, action=MigrationAction.POSTPONED, command=None) if d.command else d for d in decisions]


def _blocked(decision: MigrationDecision) -> MigrationDecision:
    if decision.command is None:
        return decision
    problem = "another of its targets cannot be made"
    return replace(decision, action=MigrationAction.FAILED, command=None, problem=problem)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one target: its difference, None if it is correct, and whether others have written to it since."""

    key: DocumentKey
    difference: str | None = None
    changed: bool = False


async def verify_migration_unit(unit: Unit, migration: Migration, service: Service) -> list[Verdict]:
    """Return one verdict for each target that the migration made or should have made.

    The sources of a target are rebuilt from the audit records. Raises HistoryCorrupt for an unreadable document,
    VaultUnavailable, Unavailable.
    """
    gathered = await read_migration_unit(unit, migration, Depth.NEWEST, service)
    live = any(found.live for found in gathered.sources.values())
    verdicts = []
    for target, found in zip(migration.targets, gathered.targets, strict=True):
        made = found.trace.newest
        if made is None and not live:
            continue
        try:
            if made is None:
                difference = _unmade(migration, target, found, gathered, service.catalog)
                verdicts.append(Verdict(found.key, difference))
            else:
                verdicts.append(await _made(migration, target, found, made, gathered, service))
        except (Unavailable, VaultUnavailable):
            raise
        except (NotMigratable, MemnetError) as error:
            verdicts.append(Verdict(found.key, problem_of(error)))
    return verdicts


def _unmade(
    migration: Migration, target: Target, found: FoundDocument, gathered: Gathered, catalog: Catalog
) -> str | None:
    """Return the difference of a target without a change by the migration, or None."""
    head = found.live
    if head is None:
        return "is missing"
    if migration.in_place:
        return None if is_beyond(target, head, catalog) else "is not migrated"
    of_schema = (head.schema_id, head.schema_version) == (target.schema_id, target.schema_version)
    wanted = make(target, upgraded(migration, documents_of(gathered), catalog))
    return None if of_schema and canonical(wanted) == canonical(head.content) else "was not made by the migration"


async def _made(
    migration: Migration, target: Target, found: FoundDocument, made: Record, gathered: Gathered, service: Service
) -> Verdict:
    read = await _sources_then(found, made, service)
    if _hash(migration, target, read, service.catalog) != made["content_hash"]:
        return Verdict(found.key, "is not what the migration makes of its source")
    now = documents_of(gathered)
    if now and not migration.in_place and _hash(migration, target, now, service.catalog) != made["content_hash"]:
        return Verdict(found.key, "its source was changed since it was migrated")
    return await _since(found, made, service)


def _hash(migration: Migration, target: Target, sources: Mapping[str, Json], catalog: Catalog) -> str:
    return sha256_hex(canonical(make(target, upgraded(migration, sources, catalog))))


async def _sources_then(found: FoundDocument, made: Record, service: Service) -> dict[str, Json]:
    """Return the sources in the versions that the migration read."""
    read = {}
    for name, source in made["evidence"]["sources"].items():
        key = DocumentKey(found.key.scope, source["namespace"], source["path"])
        view = await get_document(key, service, as_of=source["change_id"])
        read[name] = orjson.loads(view.document)
    return read


async def _since(found: FoundDocument, made: Record, service: Service) -> Verdict:
    """Return the verdict on the target's changes since the migration made it."""
    head = found.head
    if head is None:
        return Verdict(found.key, "is missing")
    try:
        last = head.change_id(head.commit.sequence)
        await get_document(found.key, service, as_of=last)
    except VersionNotFound:
        if not head.deleted:
            raise
        # Its chain of records has been verified up to the deletion.
        return Verdict(found.key, changed=True)
    except HistoryCorrupt as error:
        return Verdict(found.key, f"its history is broken: {error.details.get('reason') or error.details}")
    return Verdict(found.key, changed=made["sequence"] != head.commit.sequence)


@dataclass(frozen=True, slots=True)
class RolledBack:
    """The restored documents, those that others have changed since, and whether another writer was always faster."""

    done: Sequence[DocumentKey] = ()
    refused: Sequence[DocumentKey] = ()
    postponed: bool = False


async def roll_back_unit(
    unit: Unit, migration: Migration, service: Service, *, actor: Actor, force: bool = False
) -> RolledBack:
    """Restore the version before the migration's first change; a document that did not exist before is deleted.

    Decommissioned sources are restored first. If others have written to one of the targets since, nothing is restored
    without `force`. Raises HistoryCorrupt or VersionNotFound if the version can no longer be rebuilt, VaultUnavailable,
    Unavailable.
    """
    done: dict[DocumentKey, None] = {}
    for _ in range(ATTEMPTS):
        gathered = await read_migration_unit(unit, migration, Depth.FIRST, service)
        refused = [] if force else changed_since(gathered)
        due = returns(gathered)
        if refused or not due:
            return RolledBack(list(done), refused)
        try:
            for back in due:
                await _restore(back, migration, actor, service)
                done[back.key] = None
        except LOST_RACES:
            continue
    return RolledBack(list(done), postponed=True)


async def _restore(back: Return, migration: Migration, actor: Actor, service: Service) -> None:
    if back.to_sequence is None:
        await delete_document(removal(back, migration=migration, actor=actor), service)
        return
    view = await get_document(back.key, service, as_of=back.change_id())
    (record,) = await read_records(back.key.scope, back.head, back.to_sequence, back.to_sequence, audit=service.audit)
    command, decision = restoration(back, orjson.loads(view.document), record, migration=migration, actor=actor)
    await commit_change(command, lambda _: decision, service)


@dataclass(frozen=True, slots=True)
class Decommissioned:
    """The deleted sources, the verdicts that prevented it, and whether another writer was always faster."""

    done: Sequence[DocumentKey] = ()
    differences: Sequence[Verdict] = ()
    postponed: bool = False


async def decommission_unit(unit: Unit, migration: Migration, service: Service, *, actor: Actor) -> Decommissioned:
    """Delete each source in the version that was verified; a rollback of the migration restores it.

    A migration in place has no sources to delete. Raises HistoryCorrupt, VaultUnavailable, Unavailable.
    """
    done: dict[DocumentKey, None] = {}
    for _ in range(ATTEMPTS):
        # Read before the verification, so that the deletion fails if another writer comes between.
        gathered = await read_migration_unit(unit, migration, Depth.NOTHING, service)
        verdicts = await verify_migration_unit(unit, migration, service)
        differences = [verdict for verdict in verdicts if verdict.difference]
        due = [(found, found.live) for found in gathered.sources.values() if found.live]
        if differences or migration.in_place or not due:
            return Decommissioned(list(done), tuple(differences))
        try:
            for found, head in due:
                command = decommissioning(found, head, migration=migration, actor=actor)
                await delete_document(command, service)
                done[found.key] = None
            return Decommissioned(list(done))
        except LOST_RACES:
            continue
    return Decommissioned(list(done), postponed=True)
