"""Go through the documents of all tenants and tend those that a profile keeps up."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from memnet.domain.core.errors import HistoryCorrupt, Unavailable, VaultUnavailable
from memnet.domain.core.scope import DocumentKey
from memnet.domain.upkeep.maintenance import profiles_maintaining
from memnet.operations.upkeep.maintain_document import MaintenanceResult, Outcome
from memnet.service import Service

PAGE = 1000
AT_ONCE = 16
"""Documents that are tended side by side; each is a read, and rarely a write."""
log = logging.getLogger(__name__)


@dataclass(slots=True)
class UpkeepReport:
    """What a run saw: documents listed, and of each profile's look at a document what came of it.

    `entries` counts entries by their fate, `held` those that are stale and stay for want of room. `broken` documents
    cannot be read.
    """

    listed: int = 0
    untouched: int = 0
    changed: int = 0
    postponed: int = 0
    refused: int = 0
    broken: int = 0
    held: int = 0
    entries: Counter[str] = field(default_factory=Counter)

    def add(self, tended: MaintenanceResult) -> None:
        """Count one outcome."""
        self.untouched += tended.outcome is Outcome.UNTOUCHED
        self.changed += tended.outcome is Outcome.CHANGED
        self.postponed += tended.outcome is Outcome.POSTPONED
        self.refused += tended.outcome is Outcome.REFUSED
        if tended.plan is not None:
            self.held += tended.plan.held
            if tended.outcome is Outcome.CHANGED:
                self.entries.update(tended.plan.counts())


Tend = Callable[[DocumentKey], Awaitable[Sequence[MaintenanceResult]]]


async def maintain_documents(tend: Tend, service: Service) -> UpkeepReport:
    """Call `tend` with every document that a profile keeps up; one that fails does not stop the others.

    Raises Unavailable if the listing fails.
    """
    report = UpkeepReport()
    cursor: str | None = None
    while True:
        page = await service.documents.list_all(limit=PAGE, cursor=cursor)
        report.listed += len(page.items)
        due = [
            row.key for row in page.items if not row.summary.deleted and profiles_maintaining(service.catalog, row.key)
        ]
        for first in range(0, len(due), AT_ONCE):
            await asyncio.gather(*(_tend(key, tend, report) for key in due[first : first + AT_ONCE]))
        cursor = page.next_cursor
        if cursor is None:
            return report


async def _tend(key: DocumentKey, tend: Tend, report: UpkeepReport) -> None:
    try:
        for tended in await tend(key):
            report.add(tended)
    except (Unavailable, VaultUnavailable):
        report.postponed += 1
    except HistoryCorrupt:
        log.exception("a stored document cannot be read", extra={"document": key.blob_name})
        report.broken += 1
