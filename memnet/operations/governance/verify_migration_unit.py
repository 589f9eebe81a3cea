"""Check that what a migration made is what it makes of its sources, or was changed since by writes that are audited."""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.catalog.migration_model import Migration, Target, Unit
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import HistoryCorrupt, MemnetError, Unavailable, VaultUnavailable, VersionNotFound
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import DocumentKey, Json
from memnet.domain.governance.migration_functions import make
from memnet.domain.governance.migration_plan import (
    FoundDocument,
    Gathered,
    NotMigratable,
    documents_of,
    is_beyond,
    problem_of,
    upgraded,
)
from memnet.operations.documents.read import get_document
from memnet.operations.governance.read_migration_unit import Depth, read_migration_unit
from memnet.service import Service


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be said of one target. `difference` is None if all is well; `changed` if others wrote to it since."""

    key: DocumentKey
    difference: str | None = None
    changed: bool = False


async def verify_migration_unit(unit: Unit, migration: Migration, service: Service) -> list[Verdict]:
    """Return one verdict a target that the migration made or should have made.

    What a target was made of is rebuilt from the audit. Raises HistoryCorrupt for a document that cannot be read,
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
    """The target bears no trace of the migration."""
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
    read = await _read_then(found, made, service)
    if _hash(migration, target, read, service.catalog) != made["content_hash"]:
        return Verdict(found.key, "is not what the migration makes of its source")
    now = documents_of(gathered)
    if now and not migration.in_place and _hash(migration, target, now, service.catalog) != made["content_hash"]:
        return Verdict(found.key, "its source was changed since it was migrated")
    return await _since(found, made, service)


def _hash(migration: Migration, target: Target, sources: Mapping[str, Json], catalog: Catalog) -> str:
    return sha256_hex(canonical(make(target, upgraded(migration, sources, catalog))))


async def _read_then(found: FoundDocument, made: Record, service: Service) -> dict[str, Json]:
    """The sources as the migration read them."""
    read = {}
    for name, source in made["evidence"]["sources"].items():
        key = DocumentKey(found.key.scope, source["namespace"], source["path"])
        view = await get_document(key, service, as_of=source["change_id"])
        read[name] = orjson.loads(view.document)
    return read


async def _since(found: FoundDocument, made: Record, service: Service) -> Verdict:
    """What happened to the target after the migration made it: nothing, or changes whose records hold."""
    head = found.head
    if head is None:
        return Verdict(found.key, "is missing")
    try:
        last = head.change_id(head.commit.sequence)
        await get_document(found.key, service, as_of=last)
    except VersionNotFound:
        if not head.deleted:
            raise
        # Its chain of records, up to the deletion, has been checked on the way.
        return Verdict(found.key, changed=True)
    except HistoryCorrupt as error:
        return Verdict(found.key, f"its history is broken: {error.details.get('reason') or error.details}")
    return Verdict(found.key, changed=made["sequence"] != head.commit.sequence)
