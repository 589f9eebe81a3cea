"""Append audit records from the documents' outboxes to audit/: after each commit, and after a crash."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from memnet.domain.core.errors import ErasureRunning, HistoryCorrupt, Unavailable, VaultUnavailable
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.documents import envelope
from memnet.domain.documents.audit_segments import position_of
from memnet.domain.documents.envelope import Envelope, Position
from memnet.paging import rows
from memnet.service import Service
from memnet.stores import StoredHistory, derive_baseline, store_baseline

log = logging.getLogger(__name__)


@dataclass(slots=True)
class SweepReport:
    """The counts of a sweep: documents listed and swept, baselines stored, documents postponed and broken."""

    listed: int = 0
    swept: int = 0
    baselines: int = 0
    postponed: int = 0
    broken: int = 0


async def flush_outbox(key: DocumentKey, version: Envelope, service: Service) -> None:
    """Append the outbox of a committed version, and store the baseline of the segment that the version begins.

    Safe to repeat and to run concurrently. Pass only a version that was confirmed to be stored: an attempt that was not
    committed must leave no record. Raises HistoryCorrupt, ErasureRunning, DecryptionFailed, VaultUnavailable,
    Unavailable.
    """
    await service.audit.flush(key.scope, version)
    newest = _newest(version)
    if newest.offset == 0 and newest.first > 1:
        history = await service.audit.history(key.scope, version.doc_id)
        await _store_baselines(key, version, history, service)


async def sweep_user(scope: UserScope, service: Service, *, report: SweepReport | None = None) -> SweepReport:
    """Sweep all documents of a user, as `sweep_documents` does; continue the counts of `report`."""
    found = [row.key async for row in rows(partial(service.documents.list, scope, ""))]
    return await sweep_documents(scope, found, service, report=report)


async def sweep_documents(
    scope: UserScope, keys: Sequence[DocumentKey], service: Service, *, report: SweepReport | None = None
) -> SweepReport:
    """Append the records that crashed writers left in documents of a user, and store missing baselines.

    Nothing is written for a document whose records are stored. Safe while writers and other sweepers run. Raises
    Unavailable: the segments cannot be listed.
    """
    report = report or SweepReport()
    histories = await service.audit.histories(scope)
    for key in keys:
        report.listed += 1
        await _sweep(key, histories, report, service)
    return report


async def _sweep(
    key: DocumentKey, histories: Mapping[str, StoredHistory], report: SweepReport, service: Service
) -> None:
    try:
        stored = await service.documents.get(key)
        current = envelope.load(stored.data) if stored else None
        if current is None or current.erased:
            return
        try:
            await service.audit.flush(key.scope, current, read_first=True)
            history = histories.get(current.doc_id)
            if history is None or _newest(current).first not in history.segments:
                # The flush has created a segment.
                history = await service.audit.history(key.scope, current.doc_id)
            report.baselines += await _store_baselines(key, current, history, service)
        except HistoryCorrupt:
            # A retention run has removed a segment since, unless the document is unchanged.
            again = await service.documents.get(key)
            if again is not None and stored is not None and again.storage_etag == stored.storage_etag:
                raise
            report.postponed += 1
            return
        report.swept += 1
    except (Unavailable, VaultUnavailable, ErasureRunning):
        # The store failed, or the document is being erased. The records are safe in the document.
        report.postponed += 1
    except HistoryCorrupt:
        log.exception("history_verification_failed", extra={"document": key.blob_name})
        report.broken += 1


async def _store_baselines(key: DocumentKey, current: Envelope, history: StoredHistory, service: Service) -> int:
    """Store the baselines that segments lack, the oldest first; return how many."""
    # The first segment has no records before it to derive a baseline from. Segments that begin after this version are
    # the concern of those who write them.
    begun = [first for first in history.segments if history.begins < first <= current.commit.sequence]
    missing = [first for first in begun if first not in history.baselines]
    for first in missing:
        try:
            baseline = await derive_baseline(key, current, first, history=history, audit=service.audit)
        except HistoryCorrupt:
            # Unless a retention run has stored it, and removed the baseline that it is derived from.
            if await service.audit.read_baseline(key.scope, current.doc_id, first) is None:
                raise
        else:
            await store_baseline(baseline, audit=service.audit)
        history = history.with_baseline(first)
    return len(missing)


def _newest(version: Envelope) -> Position:
    """Return the position of the newest record."""
    outbox = version.commit.outbox
    return position_of(version.commit.position, outbox, len(outbox) - 1)
