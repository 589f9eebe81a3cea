"""Read the documents of one unit of a migration, and what their records tell of it."""

import asyncio
from enum import IntEnum

from memnet.domain.catalog.migration_model import Migration, Unit, is_noted
from memnet.domain.core.errors import HistoryCorrupt
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import DocumentKey
from memnet.domain.documents import envelope
from memnet.domain.documents.envelope import Envelope
from memnet.domain.governance.migration_plan import FoundDocument, Gathered, Trace
from memnet.operations.history.audit_records import read_records
from memnet.service import Service
from memnet.stores import AuditLog, DocumentStore

BATCH = 16


class Depth(IntEnum):
    """How far back the records of the targets are read."""

    NOTHING = 0
    NEWEST = 1
    """To the migration's newest change."""
    FIRST = 2
    """To its first change since it was last rolled back."""


async def read_migration_unit(unit: Unit, migration: Migration, depth: Depth, service: Service) -> Gathered:
    """Read sources and targets, the targets last: what is found made is not older than what it was made of.

    Records that retention has removed, or that are damaged, end a trace as the first record does. Raises HistoryCorrupt
    for a document that cannot be read, VaultUnavailable, Unavailable.
    """
    sources = await asyncio.gather(
        *(_source(unit.key(source), migration, service) for source in migration.sources.values())
    )
    targets = await asyncio.gather(
        *(_target(unit.key(target), migration, depth, service) for target in migration.targets)
    )
    return Gathered(dict(zip(migration.sources, sources, strict=True)), targets)


async def _head(key: DocumentKey, documents: DocumentStore) -> Envelope | None:
    stored = await documents.get(key)
    return envelope.load(stored.data) if stored else None


async def _source(key: DocumentKey, migration: Migration, service: Service) -> FoundDocument:
    head = await _head(key, service.documents)
    if head is None or not head.deleted:
        return FoundDocument(key, head)
    last = head.commit.sequence
    try:
        (record,) = await read_records(key.scope, head, last, last, audit=service.audit)
    except HistoryCorrupt:
        return FoundDocument(key, head)
    return FoundDocument(key, head, decommissioned=is_noted(record, migration.notes()[2]))


async def _target(key: DocumentKey, migration: Migration, depth: Depth, service: Service) -> FoundDocument:
    head = await _head(key, service.documents)
    if head is None or depth is Depth.NOTHING:
        return FoundDocument(key, head)
    return FoundDocument(key, head, await _trace(key, head, migration, depth, service.audit))


async def _trace(key: DocumentKey, head: Envelope, migration: Migration, depth: Depth, audit: AuditLog) -> Trace:
    made, rolled_back, _ = migration.notes()
    first: Record | None = None
    newest: Record | None = None
    last, size = head.commit.sequence, 1
    while last > 0:
        begin = max(1, last - size + 1)
        try:
            records = await read_records(key.scope, head, begin, last, audit=audit)
        except HistoryCorrupt:
            if size == 1:
                return Trace(first, newest)
            size = 1
            continue
        for record in reversed(records):
            if is_noted(record, rolled_back):
                return Trace(first, newest)
            if is_noted(record, made):
                first, newest = record, newest or record
                if depth is Depth.NEWEST:
                    return Trace(first, newest)
        last, size = begin - 1, BATCH
    return Trace(first, newest)
