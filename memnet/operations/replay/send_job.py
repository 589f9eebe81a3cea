"""Send a job whose mark stands already."""

import logging
from datetime import datetime

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.job import Job
from memnet.ports import MessageQueue

_log = logging.getLogger(__name__)


async def send_job(job: Job, *, attempt: int, due: datetime | None, queue: MessageQueue) -> bool:
    """Send it, and say whether the broker has confirmed it; if not, its mark has it sent later."""
    try:
        await queue.send(job, attempt=attempt, due=due)
    except Unavailable:
        _log.warning("a %s job could not be sent; its mark stands", job.kind)
        return False
    return True
