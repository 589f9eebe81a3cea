"""Remove a user's audit records that are over, each document's behind a baseline that stands for them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memnet.domain.core.errors import DecryptionFailed, HistoryCorrupt
from memnet.domain.core.scope import DocumentKey
from memnet.domain.documents import commit, envelope
from memnet.domain.documents.envelope import Envelope
from memnet.domain.history import reconstruction
from memnet.domain.history.baseline import Baseline
from memnet.operations.documents.outbox import flush_outbox
from memnet.operations.governance.delete_expired import RetentionRun, delete_expired
from memnet.operations.governance.legal_holds import holds_covering
from memnet.operations.history.baselines import list_baselines, next_baseline, read_baseline, store_baseline
from memnet.ports import StoreConflict, StoredDocument
from memnet.service import Service
from memnet.stores import AuditLog, DocumentStore

PAGE = 1000
AT_ONCE = 16
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Stores:
    service: Service


@dataclass(frozen=True, slots=True)
class _Standing:
    """Of one document, the changes that have a record and those that have a baseline, each in order."""

    records: Sequence[str] = ()
    baselines: Sequence[str] = ()


async def retain_audit(service: Service, *, run: RetentionRun) -> None:
    """Shorten the history of each document, deleted ones too, from its beginning to the first record that stays.

    The newest record of a document always stays. The baseline is written before the first record goes and holds the
    version that the last removed record made, so every version since then can still be rebuilt. A history that does not
    hold, or of a user whose keys do not open, is left as it is, and counted. What an interrupted run has left is
    removed.

    Raises ErasureRunning, HistoryCorrupt, VaultUnavailable, Unavailable.
    """
    stores = _Stores(service)
    standing = await _list(run, service.audit)
    async for key in _keys(run, service.documents):
        stored = await service.documents.get(key)
        if stored is None:
            continue
        try:
            head = envelope.load(stored.data)
            await _shorten(key, stored, head, standing, run, stores)
        except (HistoryCorrupt, DecryptionFailed):
            # An erasure that has begun meanwhile takes histories apart.
            await service.documents.check(key.scope)
            log.exception("a history does not hold", extra={"document": key.blob_name})
            run.report.broken["audit"] += 1


async def _list(run: RetentionRun, audit: AuditLog) -> Mapping[str, _Standing]:
    records: dict[str, list[str]] = {}
    cursor: str | None = None
    while True:
        page = await audit.list(run.scope, "", limit=PAGE, cursor=cursor)
        for change in page.items:
            records.setdefault(change.rpartition("-")[0], []).append(change)
        cursor = page.next_cursor
        if cursor is None:
            break
    known = await list_baselines(run.scope, audit=audit)
    return {
        doc_id: _Standing(records.get(doc_id, ()), known.get(doc_id, ())) for doc_id in records.keys() | known.keys()
    }


async def _keys(run: RetentionRun, documents: DocumentStore) -> AsyncIterator[DocumentKey]:
    cursor: str | None = None
    while True:
        page = await documents.list(run.scope, "", limit=PAGE, cursor=cursor)
        for row in page.items:
            yield row.key
        cursor = page.next_cursor
        if cursor is None:
            return


async def _shorten(
    key: DocumentKey,
    stored: StoredDocument,
    head: Envelope,
    standing: Mapping[str, _Standing],
    run: RetentionRun,
    stores: _Stores,
) -> None:
    tally = run.report.tallies["audit"]
    known = standing.get(head.doc_id, _Standing())
    records = sorted({*known.records, *(record["change_id"] for record in head.commit.outbox)})
    before, after = await _find(key, head, run, stores.service.audit)
    newest = head.change_id(head.commit.sequence)
    due = [change for change in records if after and change != newest and reconstruction.is_covered(change, after)]
    tally.kept += len(records) - len(due)
    if after is None:
        return
    is_new, is_ready = after != before, False

    async def remove(changes: Sequence[str], known_at: datetime) -> Sequence[str]:
        nonlocal is_ready
        is_ready = is_ready or not is_new or await _replace(key, stored, head, after, stores)
        if is_ready:
            await _delete(key, changes, known_at, stores.service.audit)
        return changes if is_ready else ()

    gone = await delete_expired(due, remove, tally, run=run)
    run.report.baselines += is_new and bool(gone)
    older = [change for change in known.baselines if change < after.change_id]
    known_at = run.service.clock.now()
    if len(gone) < len(due) or not older or await holds_covering(run.scope, holds=run.service.holds):
        return
    if is_new and not gone:
        # Only the newest record is due, which stays: what it replaced goes with the baseline before it.
        if not run.dry_run and not await _replace(key, stored, head, after, stores):
            tally.postponed += 1
            return
        run.report.baselines += 1
    for change in older if not run.dry_run else ():
        await stores.service.audit.delete_baseline(key.scope, change, known_at=known_at)


async def _find(
    key: DocumentKey, head: Envelope, run: RetentionRun, audit: AuditLog
) -> tuple[Baseline | None, Baseline | None]:
    """The baseline there is, and the one there has to be."""
    before = await read_baseline(key.scope, head.doc_id, audit=audit)
    while True:
        try:
            return before, await next_baseline(key, head, before, run=run, audit=audit)
        except HistoryCorrupt:
            # Unless another run has just removed what this one was reading.
            newer = await read_baseline(key.scope, head.doc_id, audit=audit)
            if newer is None or (before is not None and newer.sequence <= before.sequence):
                raise
            before = newer


async def _replace(key: DocumentKey, stored: StoredDocument, head: Envelope, after: Baseline, stores: _Stores) -> bool:
    """Put the baseline in place; False if a writer came in between.

    What the document still carries of the records has to go first: whoever finds it there would append it again.
    """
    if any(reconstruction.is_covered(record["change_id"], after) for record in head.commit.outbox):
        await flush_outbox(key.scope, head.commit.outbox, audit=stores.service.audit)
        trimmed = commit.with_empty_outbox(head)
        try:
            await stores.service.documents.put(
                key, envelope.dump(trimmed), envelope.summarise(trimmed), replaces=stored.storage_etag
            )
        except StoreConflict:
            return False
    await store_baseline(after, audit=stores.service.audit)
    return True


async def _delete(key: DocumentKey, changes: Sequence[str], known_at: datetime, audit: AuditLog) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(change: str) -> None:
        async with gate:
            await audit.delete(key.scope, change, known_at=known_at)

    await asyncio.gather(*map(one, changes))
