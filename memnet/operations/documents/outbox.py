"""Copy audit records from the documents' outboxes to audit/: after each commit, and after a crash."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from memnet.domain.core.errors import ErasureRunning, HistoryCorrupt, Unavailable
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.documents import commit, envelope
from memnet.domain.documents.audit_record import record_bytes
from memnet.paging import rows
from memnet.ports import StoreConflict
from memnet.service import Service
from memnet.stores import AuditLog

log = logging.getLogger(__name__)


@dataclass(slots=True)
class SweepReport:
    """The counts of a sweep: documents listed, trimmed, postponed to the next sweep, and broken."""

    listed: int = 0
    trimmed: int = 0
    postponed: int = 0
    broken: int = 0


async def flush_outbox(scope: UserScope, records: Sequence[Record], *, audit: AuditLog) -> None:
    """Append records of a committed version to the audit log. Safe to repeat and to run concurrently.

    Pass only records that a confirmed read or write of the document held: an attempt that was not committed must leave
    no record. Raises HistoryCorrupt, Unavailable.
    """
    for record in records:
        if not audit.is_flushed(scope, record["change_id"]):
            await audit.append(scope, record["change_id"], record_bytes(record))


async def sweep_outboxes(service: Service, *, quiet: timedelta = timedelta(minutes=1)) -> SweepReport:
    """Flush and empty the outbox of every document that has not been written for `quiet`.

    Safe while writers and other sweepers run. The ETag that clients see stays the same. Raises Unavailable: the
    documents cannot be listed.
    """
    report = SweepReport()
    latest = to_text(service.clock.now() - quiet)
    async for row in rows(service.documents.list_all):
        report.listed += 1
        if row.summary.outbox and row.summary.updated_at <= latest:
            await _sweep(row.key, report, service)
    return report


async def sweep_user(scope: UserScope, service: Service) -> SweepReport:
    """Flush the outbox of every document of a user; the documents stay unchanged. Raises Unavailable."""
    report = SweepReport()
    async for row in rows(partial(service.documents.list, scope, "")):
        report.listed += 1
        if row.summary.outbox:
            await _flush(row.key, report, service)
    return report


async def _flush(key: DocumentKey, report: SweepReport, service: Service) -> None:
    try:
        stored = await service.documents.get(key)
        if stored is not None:
            await flush_outbox(key.scope, envelope.load(stored.data).commit.outbox, audit=service.audit)
    except Unavailable:
        report.postponed += 1
    except HistoryCorrupt:
        log.exception("stored bytes are not what was written", extra={"document": key.blob_name})
        report.broken += 1


async def _sweep(key: DocumentKey, report: SweepReport, service: Service) -> None:
    try:
        stored = await service.documents.get(key)
        current = envelope.load(stored.data) if stored else None
        if stored is None or current is None or not current.commit.outbox:
            return
        await flush_outbox(key.scope, current.commit.outbox, audit=service.audit)
        trimmed = commit.with_empty_outbox(current)
        await service.documents.put(
            key, envelope.dump(trimmed), envelope.summarise(trimmed), replaces=stored.storage_etag
        )
        report.trimmed += 1
    except (StoreConflict, Unavailable, ErasureRunning):
        # A writer was faster, the store failed, or the document is being erased. The records are safe in the blob.
        report.postponed += 1
    except HistoryCorrupt:
        log.exception("stored bytes are not what was written", extra={"document": key.blob_name})
        report.broken += 1
