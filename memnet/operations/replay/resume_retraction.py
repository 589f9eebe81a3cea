"""Let a worker begin a retraction, or apply it again: something of its source has reached the storage since."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from memnet.domain.core.errors import RetractionNotFound
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import UserScope
from memnet.domain.governance.retraction import Retraction, RetractionStatus
from memnet.operations.replay.jobs import send_job
from memnet.operations.replay.retraction_record import load_retraction, write_plan, write_retraction
from memnet.paging import retry_conflicts
from memnet.service import Service

APPLIED = frozenset({RetractionStatus.APPLYING, RetractionStatus.APPLIED, RetractionStatus.PARTIAL})
Check = Callable[[Retraction], Awaitable[bool]]


async def begin_retraction(job: Job, status: RetractionStatus, by: str, check: Check, service: Service) -> Retraction:
    """Mark the job, write the record, and send the job, in this order; return the record.

    `check` says whether there is anything to do. A worker that is at it begins again, because its record has changed.
    Raises what `check` raises, RetractionNotFound, HistoryCorrupt, DecryptionFailed, ErasureRunning, VaultUnavailable,
    Unavailable.
    """

    async def begin() -> tuple[Retraction, bool]:
        loaded = await load_retraction(job, service)
        found = loaded.retraction
        if not await check(found):
            return found, False
        await service.marks.mark(job)
        started = replace(loaded, retraction=found.begin(status, by, service.clock.now()))
        if status is RetractionStatus.UNDOING and found.undone_by is None:
            documents = tuple(replace(one, is_done=False) for one in loaded.plan.documents)
            started = await write_plan(started, replace(loaded.plan, documents=documents), service)
        else:
            started = await write_retraction(started, service)
        return started.retraction, True

    retraction, is_begun = await retry_conflicts(begin)
    if is_begun and not await send_job(job, attempt=retraction.attempts, due=None, queue=service.queue):
        await service.marks.mark(job)
    return retraction


async def resume_retraction(scope: UserScope, retraction_id: str, service: Service) -> None:
    """Have a retraction applied again that was applied, or is being applied.

    One that does not exist, has not been applied, or was undone stays unchanged. A worker checks for a legal hold
    before it applies anything. Raises HistoryCorrupt, DecryptionFailed, ErasureRunning, VaultUnavailable, Unavailable.
    """
    job = Job(JobKind.RETRACTION, scope.tenant_id, scope.user_id, retraction_id)

    async def check(found: Retraction) -> bool:
        return found.status in APPLIED

    with suppress(RetractionNotFound):
        await begin_retraction(job, RetractionStatus.APPLYING, service.worker_principal, check, service)
