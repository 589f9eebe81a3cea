"""Remove what is stored of a user for longer than the rules say."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memnet.domain.catalog import Catalog
from memnet.domain.document import UserScope
from memnet.domain.errors import MalformedRequest
from memnet.domain.hold import HoldChange
from memnet.domain.retention import RetentionReport
from memnet.domain.timestamps import to_text
from memnet.operations.legal_holds import holds_covering, told
from memnet.operations.remove_due import RetentionRun
from memnet.operations.retain_audit import retain_audit
from memnet.operations.retain_events import retain_events
from memnet.operations.retain_jobs import retain_jobs
from memnet.operations.retain_snapshots import retain_snapshots
from memnet.ports import Clock
from memnet.stores import (
    AuditLog,
    DocumentStore,
    EventStore,
    HoldStore,
    JobMarks,
    RecordStore,
    Search,
    Vault,
)


@dataclass(frozen=True, slots=True)
class AppliedRetention:
    """What came of it, and the holds that covered the user."""

    as_of: str
    dry_run: bool
    holds: tuple[HoldChange, ...]
    report: RetentionReport

    def members(self) -> dict[str, Any]:
        """What a client is told."""
        run = {"as_of": self.as_of, "dry_run": self.dry_run, "held": bool(self.holds), "holds": told(self.holds)}
        return {**run, **self.report.members()}


async def apply_retention(
    scope: UserScope,
    *,
    as_of: datetime | None,
    dry_run: bool,
    documents: DocumentStore,
    audit: AuditLog,
    events: EventStore,
    search: Search,
    records: RecordStore,
    vault: Vault,
    marks: JobMarks,
    holds: HoldStore,
    catalog: Catalog,
    clock: Clock,
) -> AppliedRetention:
    """Apply the rules as they were due at `as_of` (None: now); with `dry_run` only count.

    May be interrupted anywhere and run again, by anyone, beside anyone. Under a legal hold nothing is removed, and
    what is due is counted as held. Raises MalformedRequest for an `as_of` in the future, which takes a dry run,
    HistoryBroken if a hold cannot be read, ErasureRunning while the user's memory is erased,
    VaultUnavailable, Unavailable.
    """
    now = clock.now()
    moment = now if as_of is None else as_of
    if moment > now and not dry_run:
        raise MalformedRequest("An as_of in the future takes dry_run: nothing is removed before its time.")
    await documents.check(scope)
    covering = await holds_covering(scope, holds=holds)
    run = RetentionRun(scope, catalog.retention(scope.tenant_id), moment, dry_run, holds, clock)
    with_snapshot = await retain_snapshots(run=run, records=records, vault=vault, clock=clock)
    await retain_jobs(run=run, records=records, marks=marks, with_snapshot=with_snapshot)
    await retain_events(run=run, events=events, search=search)
    await retain_audit(run=run, documents=documents, audit=audit)
    # Asked again, so that a hold that came in between is told with what it has kept.
    return AppliedRetention(to_text(moment), dry_run, covering or await holds_covering(scope, holds=holds), run.report)
