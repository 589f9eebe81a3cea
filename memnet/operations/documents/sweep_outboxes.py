"""Finish what crashed processes left: records still in a document's blob move to audit/, then the blob is trimmed."""

import logging
from dataclasses import dataclass
from datetime import timedelta

from memnet.domain.core.errors import ErasureRunning, HistoryCorrupt, Unavailable
from memnet.domain.core.scope import DocumentKey
from memnet.domain.core.timestamps import to_text
from memnet.domain.documents import commit, envelope
from memnet.operations.documents.flush_outbox import flush_outbox
from memnet.ports import StoreConflict
from memnet.service import Service

PAGE = 1000
log = logging.getLogger(__name__)


@dataclass(slots=True)
class SweepReport:
    """What a sweep saw: documents listed, outboxes emptied, documents left for the next sweep, and broken ones."""

    listed: int = 0
    trimmed: int = 0
    postponed: int = 0
    broken: int = 0


async def sweep_outboxes(service: Service, *, quiet: timedelta = timedelta(minutes=1)) -> SweepReport:
    """Sweep every document not written for `quiet`; safe beside any number of writers and other sweepers.

    The logical ETag stays, so no client notices. Raises Unavailable if the listing fails.
    """
    report = SweepReport()
    newest = to_text(service.clock.now() - quiet)
    cursor: str | None = None
    while True:
        page = await service.documents.list_all(limit=PAGE, cursor=cursor)
        for row in page.items:
            report.listed += 1
            if row.summary.outbox and row.summary.updated_at <= newest:
                await _sweep(row.key, report, service)
        cursor = page.next_cursor
        if cursor is None:
            return report


async def _sweep(key: DocumentKey, report: SweepReport, service: Service) -> None:
    try:
        stored = await service.documents.get(key)
        head = envelope.load(stored.data) if stored else None
        if stored is None or head is None or not head.commit.outbox:
            return
        await flush_outbox(key.scope, head.commit.outbox, audit=service.audit)
        trimmed = commit.with_empty_outbox(head)
        await service.documents.put(
            key, envelope.dump(trimmed), envelope.summarise(trimmed), replaces=stored.storage_etag
        )
        report.trimmed += 1
    except (StoreConflict, Unavailable, ErasureRunning):
        # A writer was faster, or the store failed: the records are safe in the blob until the next sweep. Or the
        # document is being erased.
        report.postponed += 1
    except HistoryCorrupt:
        log.exception("stored bytes are not what was written", extra={"document": key.blob_name})
        report.broken += 1
