"""Apply the retention rules to one user or to all, and shorten the histories of documents."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from memnet.domain.catalog.retention_policy import Kind, RetentionReport, ruled_by
from memnet.domain.core.errors import DecryptionFailed, ErasureRunning, HistoryCorrupt, MalformedRequest, MemnetError
from memnet.domain.core.scope import DocumentKey, Json, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.documents import commit, envelope
from memnet.domain.documents.envelope import Envelope
from memnet.domain.governance.legal_hold import HoldChange
from memnet.domain.history import reconstruction
from memnet.domain.history.baseline import Baseline
from memnet.operations.documents.outbox import flush_outbox
from memnet.operations.governance.legal_holds import holds_covering, holds_to_json
from memnet.operations.governance.retention_items import retain_events, retain_jobs, retain_snapshots
from memnet.operations.governance.retention_run import RetentionRun, delete_expired
from memnet.paging import bounded, rows
from memnet.ports import StoreConflict, StoredBlob
from memnet.service import Service
from memnet.stores import list_baselines, next_baseline, read_baseline, read_stored_records, store_baseline

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AppliedRetention:
    """The result of one run over one user, and the holds that covered the user."""

    as_of: str
    dry_run: bool
    holds: Sequence[HoldChange]
    report: RetentionReport

    def to_json(self) -> Json:
        """Return the members of the response."""
        run = {"as_of": self.as_of, "dry_run": self.dry_run, "on_hold": bool(self.holds)}
        return {**run, "holds": holds_to_json(self.holds), **self.report.members()}


@dataclass(slots=True)
class RetentionsReport:
    """The result of a run over many users: users seen, on hold and failed, and the sum of their reports."""

    users: int = 0
    on_hold: int = 0
    failed: int = 0
    report: RetentionReport = field(default_factory=RetentionReport)


async def apply_retention(
    scope: UserScope, service: Service, *, as_of: datetime | None, dry_run: bool
) -> AppliedRetention:
    """Apply the rules as of a moment (None: now); a dry run only counts.

    The call can be interrupted, repeated and run concurrently. Under a legal hold nothing is deleted, and expired items
    count as on hold.

    Raises:
        MalformedRequest: `as_of` is in the future, and this is not a dry run.
        HistoryCorrupt: a hold cannot be read.
        ErasureRunning, VaultUnavailable, Unavailable.
    """
    now = service.clock.now()
    moment = now if as_of is None else as_of
    if moment > now and not dry_run:
        raise MalformedRequest("An as_of in the future requires dry_run: nothing is deleted before its time.")
    await service.documents.check(scope)
    covering = await holds_covering(scope, service)
    run = RetentionRun(scope, service.catalog.retention(scope.tenant_id), moment, dry_run, service)
    with_snapshot = await retain_snapshots(run)
    await retain_jobs(run, with_snapshot)
    await retain_events(run)
    await _retain_audit(run)
    # Read again, so that a hold placed during the run is reported with the items that it kept.
    covering = covering or await holds_covering(scope, service)
    return AppliedRetention(to_text(moment), dry_run, covering, run.report)


async def apply_retentions(
    tenant_id: str | None, service: Service, *, as_of: datetime | None, dry_run: bool
) -> RetentionsReport:
    """Apply retention to each user of a tenant, or of all tenants, in turn.

    A failure of one user is logged and counted; the next run retries it. Raises InvalidIdentifier, MalformedRequest as
    `apply_retention`; Unavailable if the users cannot be listed.
    """
    found = RetentionsReport()
    async for page in service.users.pages(tenant_id):
        for scope in page:
            found.users += 1
            try:
                applied = await apply_retention(scope, service, as_of=as_of, dry_run=dry_run)
            except MalformedRequest:
                raise
            except ErasureRunning:
                # The erasure deletes all of it.
                continue
            except MemnetError as error:
                log.error("retention_failed code=%s", error.code, extra={"user": scope.prefix})
                found.failed += 1
                continue
            found.on_hold += bool(applied.holds)
            found.report.add(applied.report)
    return found


@dataclass(frozen=True, slots=True)
class _StoredHistory:
    """The ids of one document's changes that have a record, and of those that have a baseline, each in order."""

    records: Sequence[str] = ()
    baselines: Sequence[str] = ()


async def _retain_audit(run: RetentionRun) -> None:
    """Shorten the history of each document, deleted ones too, from its beginning to the first record that stays.

    The newest record of a document always stays. The baseline is written before the first record is deleted and holds
    the version that the last deleted record made, so every later version can still be rebuilt. A corrupt history, or
    one whose keys cannot be unwrapped, is left unchanged and counted. A later run deletes what an interrupted one left.
    """
    documents = run.service.documents
    stored_of = await _list(run)
    async for row in rows(partial(documents.list, run.scope, "")):
        stored = await documents.get(row.key)
        if stored is None:
            continue
        try:
            head = envelope.load(stored.data)
            await _shorten(row.key, stored, head, stored_of.get(head.doc_id, _StoredHistory()), run)
        except (HistoryCorrupt, DecryptionFailed):
            # An erasure that has started since deletes parts of histories.
            await documents.check(run.scope)
            log.exception("history_verification_failed", extra={"document": row.key.blob_name})
            run.report.unreadable["audit"] += 1


async def _list(run: RetentionRun) -> Mapping[str, _StoredHistory]:
    records: dict[str, list[str]] = {}
    async for change in rows(partial(run.service.audit.list, run.scope, "")):
        records.setdefault(change.rpartition("-")[0], []).append(change)
    known = await list_baselines(run.scope, audit=run.service.audit)
    return {
        doc_id: _StoredHistory(records.get(doc_id, ()), known.get(doc_id, ()))
        for doc_id in records.keys() | known.keys()
    }


async def _shorten(
    key: DocumentKey, stored: StoredBlob, head: Envelope, known: _StoredHistory, run: RetentionRun
) -> None:
    tally, audit = run.report.tallies["audit"], run.service.audit
    records = sorted({*known.records, *(record["change_id"] for record in head.commit.outbox)})
    before, after = await _find(key, head, run)
    newest = head.change_id(head.commit.sequence)
    expired = [change for change in records if after and change != newest and reconstruction.is_covered(change, after)]
    kept = [change for change in records if change not in expired and change != newest]
    tally.retained += len(records) - len(expired)
    if kept:
        await _note_expiry(key, head, kept[0], after, run)
    if after is None:
        return
    is_new, is_ready = after != before, False

    async def remove(changes: Sequence[str], known_at: datetime) -> Sequence[str]:
        nonlocal is_ready
        is_ready = is_ready or not is_new or await _replace(key, stored, head, after, run.service)
        if is_ready:
            await bounded(partial(audit.delete, key.scope, known_at=known_at), changes)
        return changes if is_ready else ()

    deleted = await delete_expired(expired, remove, tally, run=run)
    run.report.baselines += is_new and bool(deleted)
    older = [change for change in known.baselines if change < after.change_id]
    known_at = run.service.clock.now()
    if len(deleted) < len(expired) or not older or await holds_covering(run.scope, run.service):
        return
    if is_new and not deleted:
        # Only the newest record has expired, and it stays; the records that it replaces go with the older baseline.
        if not run.dry_run and not await _replace(key, stored, head, after, run.service):
            tally.deferred += 1
            return
        run.report.baselines += 1
    for change in older if not run.dry_run else ():
        await audit.delete_baseline(key.scope, change, known_at=known_at)


async def _note_expiry(key: DocumentKey, head: Envelope, first: str, after: Baseline | None, run: RetentionRun) -> None:
    """Note when the first record that stays expires."""
    number = int(first.rpartition("-")[2])
    found = await read_stored_records(key.scope, head, number, number, audit=run.service.audit)
    record = found[first]
    ruling = ruled_by(record, None if after is None else after.profile_id)
    run.report.expires(run.policy.expires_at(Kind.AUDIT, ruling, record["timestamp"]))


async def _find(key: DocumentKey, head: Envelope, run: RetentionRun) -> tuple[Baseline | None, Baseline | None]:
    """Return the stored baseline and the required one."""
    audit = run.service.audit
    before = await read_baseline(key.scope, head.doc_id, audit=audit)
    while True:
        try:
            return before, await next_baseline(key, head, before, policy=run.policy, as_of=run.as_of, audit=audit)
        except HistoryCorrupt:
            # Unless another run has just deleted the records that this one was reading.
            newer = await read_baseline(key.scope, head.doc_id, audit=audit)
            if newer is None or (before is not None and newer.sequence <= before.sequence):
                raise
            before = newer


async def _replace(key: DocumentKey, stored: StoredBlob, head: Envelope, after: Baseline, service: Service) -> bool:
    """Store the baseline; return False if another writer changed the document first.

    Covered records in the outbox are flushed and trimmed first: a reader of the outbox would append them again.
    """
    if any(reconstruction.is_covered(record["change_id"], after) for record in head.commit.outbox):
        await flush_outbox(key.scope, head.commit.outbox, audit=service.audit)
        trimmed = commit.with_empty_outbox(head)
        data, summary = envelope.dump(trimmed), envelope.summarise(trimmed)
        try:
            await service.documents.put(key, data, summary, replaces=stored.storage_etag)
        except StoreConflict:
            return False
    await store_baseline(after, audit=service.audit)
    return True
