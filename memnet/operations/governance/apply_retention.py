"""Remove what is stored of a user for longer than the rules say."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memnet.domain.catalog.retention_policy import RetentionReport
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.scope import UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.governance.legal_hold import HoldChange
from memnet.operations.governance.delete_expired import RetentionRun
from memnet.operations.governance.legal_holds import holds_covering, told
from memnet.operations.governance.retain_audit import retain_audit
from memnet.operations.governance.retain_events import retain_events
from memnet.operations.governance.retain_jobs import retain_jobs
from memnet.operations.governance.retain_snapshots import retain_snapshots
from memnet.service import Service


@dataclass(frozen=True, slots=True)
class AppliedRetention:
    """What came of it, and the holds that covered the user."""

    as_of: str
    dry_run: bool
    holds: tuple[HoldChange, ...]
    report: RetentionReport

    def members(self) -> dict[str, Any]:
        """What a client is told."""
        run = {"as_of": self.as_of, "dry_run": self.dry_run, "on_hold": bool(self.holds), "holds": told(self.holds)}
        return {**run, **self.report.members()}


async def apply_retention(
    scope: UserScope, service: Service, *, as_of: datetime | None, dry_run: bool
) -> AppliedRetention:
    """Apply the rules as they were due at `as_of` (None: now); with `dry_run` only count.

    May be interrupted anywhere and run again, by anyone, beside anyone. Under a legal hold nothing is removed, and
    what is due is counted as held. Raises MalformedRequest for an `as_of` in the future, which takes a dry run,
    HistoryCorrupt if a hold cannot be read, ErasureRunning while the user's memory is erased,
    VaultUnavailable, Unavailable.
    """
    now = service.clock.now()
    moment = now if as_of is None else as_of
    if moment > now and not dry_run:
        raise MalformedRequest("An as_of in the future takes dry_run: nothing is removed before its time.")
    await service.documents.check(scope)
    covering = await holds_covering(scope, holds=service.holds)
    run = RetentionRun(scope, service.catalog.retention(scope.tenant_id), moment, dry_run, service)
    with_snapshot = await retain_snapshots(service, run=run)
    await retain_jobs(service, run=run, with_snapshot=with_snapshot)
    await retain_events(service, run=run)
    await retain_audit(service, run=run)
    # Asked again, so that a hold that came in between is told with what it has kept.
    return AppliedRetention(
        to_text(moment), dry_run, covering or await holds_covering(scope, holds=service.holds), run.report
    )
