"""Take away the mark of a job that is finished."""

from memnet.domain.core.job import Job
from memnet.operations.replay.find_due_job import find_due_job
from memnet.service import Service


async def unmark_job(job: Job, service: Service) -> None:
    """Take the mark away, and put it back if the job has become due again in the meantime.

    Whoever makes a job due marks it first and changes its record after that. Raises HistoryCorrupt,
    ErasureRunning if the mark cannot be put back because the user is being erased, Unavailable.
    """
    await service.marks.unmark(job)
    if await find_due_job(job, records=service.records) is not None:
        await service.marks.mark(job)
