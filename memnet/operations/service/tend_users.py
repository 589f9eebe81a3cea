"""The upkeep of one user: what follows from changes, and what is due on a day."""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from functools import partial

from memnet.domain.core.access import Role
from memnet.domain.core.errors import DecryptionFailed, HistoryCorrupt, Unavailable, VaultUnavailable
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.domain.upkeep.freshness import next_refresh
from memnet.domain.upkeep.maintenance import profiles_maintaining
from memnet.domain.upkeep.marks import day_after, due_mark
from memnet.operations.consolidation import consolidate_document
from memnet.operations.documents.outbox import sweep_documents
from memnet.operations.governance.retention import apply_retention
from memnet.operations.history.sign_checkpoints import Signed, sign_checkpoint
from memnet.operations.upkeep import MaintenanceResult, Outcome, compact_document, refresh_document
from memnet.paging import rows
from memnet.service import Service
from memnet.stores import ListedDocument

POSTPONED, BROKEN = "postponed", "broken"
"""Counts of work that a later run must repeat: another writer or a failure came between, or stored bytes are damaged.
The user's mark stays as long as there is any.
"""
TOMORROW = timedelta(days=1)
Maintain = Callable[..., Awaitable[Sequence[MaintenanceResult]]]
log = logging.getLogger(__name__)


async def tend_user(scope: UserScope, service: Service, *, since: str = "") -> Counter[str]:
    """Do what follows from the changes of a user at `since` or later, and return the counts of it.

    Appends the audit records that crashed writers left, compacts and consolidates the documents, signs a checkpoint,
    and creates a due mark for tomorrow: `apply_due` then finds out when something of the user expires. Safe with
    concurrent writers and runs. Raises ErasureRunning, TenantEnded, VaultUnavailable, CatalogConflict, Unavailable.
    """
    listed = await _documents(scope, service)
    if not listed and not await service.upkeep.has_data(scope):
        # The mark of a write that was refused.
        return Counter()
    await service.upkeep.add_due(due_mark(scope, service.clock.now() + TOMORROW))
    return await _follow_up(scope, [row for row in listed if row.summary.updated_at >= since], service)


async def apply_due(scope: UserScope, service: Service) -> Counter[str]:
    """Apply retention and freshness to a user, create the next due mark, and return the counts.

    Before that it does what `tend_user` does, so that a pass over all users misses nothing. The next mark is for the
    day after something of what stays expires; for tomorrow under a legal hold, and while something expired cannot be
    deleted yet. Raises as `tend_user`; HistoryCorrupt: a legal hold cannot be read.
    """
    listed = await _documents(scope, service)
    if not listed and not await service.upkeep.has_data(scope):
        return Counter()
    now = service.clock.now()
    counts, dues = await _follow_up(scope, listed, service), list[datetime]()
    applied = await apply_retention(scope, service, as_of=None, dry_run=False)
    report = applied.report
    counts["on_hold"] += bool(applied.holds)
    counts["removed"] += sum(tally.removed for tally in report.tallies.values())
    counts["unreadable"] += report.unreadable.total()
    dues += [at for at in (now if report.waiting or applied.holds else None, report.next_due) if at is not None]
    for key in _maintained(listed, service):
        results = await _maintain(key, refresh_document, counts, service)
        dues += _dues(key, results, now, service)
    if dues:
        await service.upkeep.add_due(due_mark(scope, day_after(max(now, min(dues)))))
    return counts


async def _follow_up(scope: UserScope, listed: Sequence[ListedDocument], service: Service) -> Counter[str]:
    """Append records, compact and consolidate the documents, and sign a checkpoint of the result."""
    swept = await sweep_documents(scope, [row.key for row in listed], service)
    counts = Counter({POSTPONED: swept.postponed, BROKEN: swept.broken})
    for key in _maintained(listed, service):
        await _maintain(key, compact_document, counts, service)
        await _maintain(key, consolidate_document, counts, service)
    counts[await _sign(scope, service)] += 1
    return counts


async def _sign(scope: UserScope, service: Service) -> str:
    """Sign a checkpoint if there are changes; return what to count."""
    try:
        signed = await sign_checkpoint(scope, service)
    except HistoryCorrupt:
        # An erasure that has started since deletes parts of histories.
        await service.erasures.check(scope)
        log.exception("history_verification_failed", extra={"user": scope.prefix})
        return BROKEN
    except (Unavailable, VaultUnavailable, DecryptionFailed) as error:
        # Without a key to sign with, retention continues.
        log.warning("checkpoint_postponed code=%s", error.code, extra={"user": scope.prefix})
        return POSTPONED
    return POSTPONED if signed is Signed.POSTPONED else signed.value


async def _documents(scope: UserScope, service: Service) -> Sequence[ListedDocument]:
    return [row async for row in rows(partial(service.documents.list, scope, ""))]


def _maintained(listed: Sequence[ListedDocument], service: Service) -> Sequence[DocumentKey]:
    """Return the documents that exist and have upkeep rules."""
    return [row.key for row in listed if not row.summary.deleted and profiles_maintaining(service.catalog, row.key)]


async def _maintain(
    key: DocumentKey, step: Maintain, counts: Counter[str], service: Service
) -> Sequence[MaintenanceResult]:
    """Maintain one document, and count the outcomes; a failure does not stop the others."""
    actor = Actor(service.settings.worker_principal, frozenset({Role.REPLAY}))
    try:
        results = await step(key, service, actor=actor)
    except (Unavailable, VaultUnavailable, DecryptionFailed):
        counts[POSTPONED] += 1
        return []
    except HistoryCorrupt:
        log.exception("a stored document cannot be read", extra={"document": key.blob_name})
        counts[BROKEN] += 1
        return []
    counts.update(result.outcome.value for result in results if result.outcome is not Outcome.UNTOUCHED)
    return results


def _dues(
    key: DocumentKey, results: Sequence[MaintenanceResult], now: datetime, service: Service
) -> Sequence[datetime]:
    """Return when the refreshed document has something to do again: now if a change was refused."""
    rules = {
        (one.profile.profile_id, one.binding.binding_id): one for one in profiles_maintaining(service.catalog, key)
    }
    found = [
        now
        if result.outcome is Outcome.REFUSED
        else next_refresh(result.plan.content, rules[result.profile_id, result.binding_id], now)
        for result in results
        if result.plan is not None
    ]
    return [at for at in found if at is not None]
