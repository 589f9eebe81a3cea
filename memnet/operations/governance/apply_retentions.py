"""Apply the rules of retention to every user of a tenant, or of all tenants: what a timer and the shell run."""

import logging
from dataclasses import dataclass, field
from datetime import datetime

from memnet.domain.catalog.retention_policy import RetentionReport
from memnet.domain.core.errors import ErasureRunning, MalformedRequest, MemnetError
from memnet.operations.governance.apply_retention import apply_retention
from memnet.service import Service

log = logging.getLogger(__name__)


@dataclass(slots=True)
class RetentionsReport:
    """What a run saw: users, those under a hold, those it could not finish, and what was done to all of them."""

    users: int = 0
    held: int = 0
    failed: int = 0
    report: RetentionReport = field(default_factory=RetentionReport)


async def apply_retentions(
    tenant_id: str | None, service: Service, *, as_of: datetime | None, dry_run: bool
) -> RetentionsReport:
    """Go through the users one by one; one that fails does not stop the others, and the next run takes it up again.

    Raises InvalidIdentifier, MalformedRequest as `apply_retention` does, and Unavailable if the users cannot be
    listed.
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
                # All of it goes anyway.
                continue
            except MemnetError as error:
                log.error("retention_failed code=%s", error.code, extra={"user": scope.prefix})
                found.failed += 1
                continue
            found.held += bool(applied.holds)
            found.report.add(applied.report)
    return found
