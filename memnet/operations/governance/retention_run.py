"""One run of retention over one user, and the only function through which it deletes anything."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from memnet.domain.catalog.retention_policy import Kind, RetentionPolicy, RetentionReport, Tally, batches
from memnet.domain.core.scope import UserScope
from memnet.operations.governance.legal_holds import holds_covering
from memnet.service import Service

BATCH = 64
"""The number of items that are deleted between two reads of the holds."""
T = TypeVar("T")
Remove = Callable[[Sequence[T], datetime], Awaitable[Sequence[T]]]
"""Deletes a batch, dated with the moment before the holds were read, and returns the deleted items."""


@dataclass(frozen=True, slots=True)
class RetentionRun:
    """One run over one user."""

    scope: UserScope
    policy: RetentionPolicy
    as_of: datetime
    dry_run: bool
    service: Service
    report: RetentionReport = field(default_factory=RetentionReport)

    def retain(self, tally: Tally, kind: Kind, profile_id: str | None, at: str) -> None:
        """Count an item that has not expired, and note when it does."""
        tally.retained += 1
        self.report.expires(self.policy.expires_at(kind, profile_id, at))


async def delete_expired(expired: Sequence[T], remove: Remove[T], tally: Tally, *, run: RetentionRun) -> list[T]:
    """Delete expired items in batches; return the deleted ones, or in a dry run those that would be.

    Items of a batch that `remove` does not return count as deferred. The legal holds are read before every batch; under
    a hold nothing is deleted and the batch counts as on hold. The storage refuses deletions of a process that was
    suspended after it read the holds, because they are dated with the moment before. Raises HistoryCorrupt,
    Unavailable, and what `remove` raises.
    """
    deleted: list[T] = []
    for batch in batches(expired, BATCH):
        known_at = run.service.clock.now()
        if await holds_covering(run.scope, run.service):
            tally.on_hold += len(batch)
            continue
        removed = batch if run.dry_run else await remove(batch, known_at)
        deleted += removed
        tally.removed += len(removed)
        tally.deferred += len(batch) - len(removed)
    return deleted
