"""Apply the retention rules to one user or to all, and shorten the histories of documents.

A history is shortened from its beginning, by segments whose month (UTC) has ended and whose records have all expired.
The newest record of a document stays; it gets a segment of its own if all the others of its segment have expired. Once
it has expired, too, the baseline before it is replaced with its own: nothing is left of what the change removed.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import pairwise

from memnet.domain.catalog.retention_policy import Kind, RetentionReport, has_expired, ruled_by
from memnet.domain.core.errors import DecryptionFailed, ErasureRunning, HistoryCorrupt, MalformedRequest, MemnetError
from memnet.domain.core.scope import DocumentKey, Json, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.documents import envelope
from memnet.domain.documents.audit_segments import batches
from memnet.domain.documents.envelope import Envelope, Position
from memnet.domain.governance.legal_hold import HoldChange
from memnet.domain.history import baseline as baselines
from memnet.domain.history.baseline import Baseline
from memnet.operations.governance.legal_holds import holds_covering, holds_to_json
from memnet.operations.governance.retention_items import (
    RetentionRun,
    delete_expired,
    retain_events,
    retain_jobs,
    retain_snapshots,
)
from memnet.operations.governance.retention_retractions import retain_retractions
from memnet.paging import rows
from memnet.ports import StoreConflict, StoredBlob
from memnet.service import Service
from memnet.stores import StoredHistory, derive_baseline, read_baseline, store_baseline, stream_stored_records

log = logging.getLogger(__name__)
NOTHING_STORED = StoredHistory({}, frozenset())


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
        VaultUnavailable, Unavailable: if the index is unavailable, all but snapshots with searchable turns is done.
        ErasureRunning.
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
    await retain_retractions(run)
    await retain_events(run)
    await _retain_audit(run)
    if run.failures:
        raise run.failures[0]
    if not covering and any(tally.on_hold for tally in run.report.tallies.values()):
        # A hold that was placed during the run is reported with the items that it kept.
        covering = await holds_covering(scope, service)
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
class _Shortening:
    """What one document's history loses."""

    key: DocumentKey
    stored: StoredBlob
    current: Envelope
    history: StoredHistory
    firsts: Sequence[int]
    """The first changes of the segments that go, oldest first, and of the one that the history then begins with."""
    newest_expired: bool
    """Whether the newest record has expired, too: its own baseline replaces the one before it."""
    missing: Sequence[Baseline]
    """The baselines that the history needs meanwhile and afterwards, as far as they are not stored."""

    @property
    def begins(self) -> int:
        """The first change that stays."""
        return self.firsts[-1]

    @property
    def expired(self) -> Sequence[range]:
        """The changes of each segment that goes."""
        return [range(first, following) for first, following in pairwise(self.firsts)]

    @property
    def replaced(self) -> Sequence[int]:
        """The baseline that goes although its segment stays."""
        return [self.begins] if self.newest_expired else []


async def _retain_audit(run: RetentionRun) -> None:
    """Shorten the history of each document, deleted ones too, by the segments whose records have all expired.

    A later run deletes what an interrupted one left. A corrupt history is left unchanged and counted. Raises
    ErasureRunning, VaultUnavailable, Unavailable.
    """
    documents = run.service.documents
    histories = await run.service.audit.histories(run.scope)
    async for row in rows(partial(documents.list, run.scope, "")):
        try:
            found = await _decide(row.key, histories, run)
            if found is not None:
                await _shorten(found, run)
        except (HistoryCorrupt, DecryptionFailed):
            # An erasure that has started since deletes parts of histories.
            await documents.check(run.scope)
            log.exception("history_verification_failed", extra={"document": row.key.blob_name})
            run.report.unreadable["audit"] += 1


async def _decide(key: DocumentKey, histories: Mapping[str, StoredHistory], run: RetentionRun) -> _Shortening | None:
    """Return what the document's history loses; None if there is no document. Nothing is written."""
    before: StoredHistory | None = None
    while True:
        stored = await run.service.documents.get(key)
        current = envelope.load(stored.data) if stored else None
        if stored is None or current is None or current.erased:
            return None
        if before is None:
            history = histories.get(current.doc_id, NOTHING_STORED)
        else:
            history = await run.service.audit.history(run.scope, current.doc_id)
        try:
            firsts, newest_expired = await _expired(current, history, run)
            kept = [*firsts[1:], current.commit.sequence + 1] if newest_expired else firsts[1:]
            missing = await _verify(key, current, history, kept, run)
            return _Shortening(key, stored, current, history, firsts, newest_expired, missing)
        except HistoryCorrupt:
            # Unless an erasure, a writer or another run has changed the segments since they were listed.
            await run.service.documents.check(run.scope)
            if history == before:
                raise
            before = history


async def _expired(current: Envelope, history: StoredHistory, run: RetentionRun) -> tuple[Sequence[int], bool]:
    """Return the first changes of the segments that go and that of the one that stays, and whether the newest expired.

    It has not if there is no version before it: the history begins with its baseline, or has one record. Raises
    HistoryCorrupt, VaultUnavailable, Unavailable.
    """
    last = current.commit.sequence
    waiting = batches(current.commit.position, current.commit.outbox)
    started = dict(history.segments) | {one.position.first: one.started for one in waiting if one.position.offset == 0}
    firsts = sorted(first for first in started if first <= last)
    if current.commit.position.first not in firsts:
        raise HistoryCorrupt("A segment of the audit log is missing.", change_id=current.change_id(last))
    candidates = [one for one in firsts if run.policy.may_have_expired(started[one], run.as_of)]
    begins, base, profile_id = firsts[0], history.base, None
    if last < base or last == 1:
        return firsts, False
    until = next((one for one in firsts if one not in candidates), last + 1)
    if until <= last:
        run.report.expires(run.policy.may_expire_at(started[until]))
    if 1 < begins < until:
        baseline = await read_baseline(run.scope, current.doc_id, base, audit=run.service.audit)
        if baseline is None:
            raise HistoryCorrupt("A baseline of the document is missing.", change_id=current.change_id(base - 1))
        profile_id = baseline.profile_id
    stays = following = begins
    async for record in stream_stored_records(
        run.scope, current, begins, until - 1, audit=run.service.audit, history=history
    ):
        profile_id = ruled_by(record, profile_id)
        if not has_expired(record, profile_id, run.policy, run.as_of):
            run.report.expires(run.policy.expires_at(Kind.AUDIT, profile_id, record["timestamp"]))
            break
        following = record["sequence"] + 1
        if following in firsts or following == last:
            stays = following
    return [*(one for one in firsts if one < stays), stays], following > last


async def _verify(
    key: DocumentKey, current: Envelope, history: StoredHistory, kept: Sequence[int], run: RetentionRun
) -> Sequence[Baseline]:
    """Derive the baselines of these segments from the records before; return those that are not stored.

    Raises VaultUnavailable, Unavailable; HistoryCorrupt: the records do not verify, or give another baseline than the
    stored one.
    """
    verified, missing, audit = {history.base}, list[Baseline](), run.service.audit
    for first in kept:
        known = StoredHistory(history.segments, history.baselines & verified)
        derived = await derive_baseline(key, current, first, history=known, audit=audit)
        stored = await read_baseline(run.scope, current.doc_id, first, audit=audit)
        if stored is None:
            missing.append(derived)
            continue
        if baselines.dump(stored) != baselines.dump(derived):
            raise HistoryCorrupt(change_id=derived.change_id, reason="the baseline is not what its records give")
        verified.add(first)
    return missing


async def _shorten(found: _Shortening, run: RetentionRun) -> None:
    """Delete the segments that go, oldest first, and then the baselines that the history does not begin with."""
    tally, audit = run.report.tallies["audit"], run.service.audit
    tally.retained += found.current.commit.sequence + 1 - found.begins
    begins, is_ready = found.firsts[0], False

    async def remove(batch: Sequence[range], known_at: datetime) -> Sequence[range]:
        nonlocal begins, is_ready
        # Not after a batch that a hold kept: a history has no gaps.
        if batch[0].start != begins:
            return ()
        is_ready = is_ready or await _prepare(found, run)
        for changes in batch if is_ready else ():
            await audit.delete(run.scope, found.current.doc_id, changes.start, known_at=known_at)
            begins = changes.stop
        return batch if is_ready else ()

    async def replace_baseline(batch: Sequence[int], known_at: datetime) -> Sequence[int]:
        nonlocal is_ready
        if batch[0] != begins:
            return ()
        is_ready = is_ready or await _prepare(found, run)
        for first in batch if is_ready else ():
            await audit.delete(run.scope, found.current.doc_id, first, known_at=known_at, baseline=True)
        return batch if is_ready else ()

    deleted = await delete_expired(found.expired, remove, tally, run=run, count=len)
    replaced = await delete_expired(found.replaced, replace_baseline, tally, run=run)
    run.report.baselines += bool(deleted or replaced)
    stored = found.history.baselines | {one.sequence + 1 for one in found.missing if is_ready}
    older = sorted(first for first in stored if first < begins)
    known_at = run.service.clock.now()
    if run.dry_run or not older or await holds_covering(run.scope, run.service):
        return
    for first in older:
        await audit.delete(run.scope, found.current.doc_id, first, known_at=known_at, baseline=True)


async def _prepare(found: _Shortening, run: RetentionRun) -> bool:
    """Store the missing baselines, and make the document name no segment that goes.

    Returns False if a writer or another run has changed the document. Raises HistoryCorrupt, VaultUnavailable,
    Unavailable.
    """
    current, service = found.current, run.service
    try:
        await service.audit.flush(run.scope, current)
        for baseline in found.missing:
            await store_baseline(baseline, audit=service.audit)
        if current.commit.position.first < found.begins:
            kept = tuple(record for record in current.commit.outbox if record["sequence"] >= found.begins)
            position = Position(found.begins, 0)
            # Before the document names it: a writer appends to it.
            for batch in batches(position, kept):
                await service.audit.append(run.scope, current.doc_id, batch)
            moved = replace(current, commit=replace(current.commit, outbox=kept, position=position))
            await service.documents.put(
                found.key, envelope.dump(moved), envelope.summarise(moved), replaces=found.stored.storage_etag
            )
    except (StoreConflict, HistoryCorrupt) as error:
        again = await service.documents.get(found.key)
        if isinstance(error, HistoryCorrupt) and again is not None and again.storage_etag == found.stored.storage_etag:
            raise
        return False
    return True
