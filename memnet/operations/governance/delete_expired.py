"""Remove what is over: the one door through which retention removes anything."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from memnet.domain.catalog.retention_policy import RetentionPolicy, RetentionReport, Tally, batches
from memnet.domain.core.scope import UserScope
from memnet.operations.governance.legal_holds import holds_covering
from memnet.service import Service

BATCH = 64
"""So many are removed between two looks at the holds."""
T = TypeVar("T")
Remove = Callable[[Sequence[T], datetime], Awaitable[Sequence[T]]]
"""Removes a batch, dated with the moment before the holds were asked, and returns what of it is gone."""


@dataclass(frozen=True, slots=True)
class RetentionRun:
    """One run over one user."""

    scope: UserScope
    policy: RetentionPolicy
    as_of: datetime
    dry_run: bool
    service: Service
    report: RetentionReport = field(default_factory=RetentionReport)


async def delete_expired(due: Sequence[T], remove: Remove[T], tally: Tally, *, run: RetentionRun) -> list[T]:
    """Have `remove` remove what is due, batch by batch; return what is gone, or would be in a dry run.

    `remove` returns what of a batch it has removed; the rest counts as postponed. Before every batch the legal holds
    are asked: under one nothing is removed, and all counts as held. `remove` is handed the moment before that, to date
    its deletions with: from a process that stood still since, and may have missed a hold, the storage takes none.
    Raises what `remove` raises, HistoryCorrupt, Unavailable.
    """
    gone: list[T] = []
    for batch in batches(due, BATCH):
        known_at = run.service.clock.now()
        if await holds_covering(run.scope, holds=run.service.holds):
            tally.on_hold += len(batch)
            continue
        removed = batch if run.dry_run else await remove(batch, known_at)
        gone += removed
        tally.removed += len(removed)
        tally.deferred += len(batch) - len(removed)
    return gone
