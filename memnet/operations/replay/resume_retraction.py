"""Have a retraction applied again: something of its source has reached the storage since it was applied."""

from dataclasses import replace

from memnet.domain.core.errors import RetractionNotFound
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import UserScope
from memnet.domain.governance.retraction import Retraction, RetractionStatus
from memnet.operations.replay.jobs import send_job
from memnet.operations.replay.retraction_record import load_retraction, write_retraction
from memnet.paging import retry_conflicts
from memnet.service import Service

APPLIED = frozenset({RetractionStatus.APPLYING, RetractionStatus.APPLIED, RetractionStatus.PARTIAL})


async def resume_retraction(scope: UserScope, retraction_id: str, service: Service) -> None:
    """Mark the job, write the record, and send the job, in this order.

    A worker that is applying it begins again, because its record has changed. A retraction that does not exist, has not
    been applied, or was undone stays unchanged. A worker checks for a legal hold before it applies anything. Raises
    HistoryCorrupt, DecryptionFailed, ErasureRunning, VaultUnavailable, Unavailable.
    """
    job = Job(JobKind.RETRACTION, scope.tenant_id, scope.user_id, retraction_id)

    async def begin() -> Retraction | None:
        try:
            loaded = await load_retraction(job, service)
        except RetractionNotFound:
            return None
        if loaded.retraction.status not in APPLIED:
            return None
        await service.marks.mark(job)
        again = loaded.retraction.begin(RetractionStatus.APPLYING, service.worker_principal, service.clock.now())
        return (await write_retraction(replace(loaded, retraction=again), service)).retraction

    begun = await retry_conflicts(begin)
    if begun is not None and not await send_job(job, attempt=begun.attempts, due=None, queue=service.queue):
        await service.marks.mark(job)
