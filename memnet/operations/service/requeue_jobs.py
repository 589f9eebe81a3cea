"""Send again what was lost on its way to a worker."""

import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from memnet.domain.core.errors import ErasureRunning, HistoryCorrupt, InvalidIdentifier
from memnet.operations.replay.find_due_job import find_due_job
from memnet.operations.replay.send_job import send_job
from memnet.operations.replay.unmark_job import unmark_job
from memnet.service import Service
from memnet.stores import MarkedJob

GRACE = timedelta(minutes=1)
"""How long a job may be on its way before it counts as lost."""
PAGE = 500
MOST_FAILURES = 3
"""After so many jobs in vain the broker is taken for down: each waits as long as a call may take, and a run may not."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RequeueReport:
    """What a run did."""

    sent: int
    unmarked: int
    """Marks of jobs that are finished, rest, or are not known."""
    waiting: int
    """Jobs that are due but could not be sent."""
    broken: int = 0
    """Jobs whose record cannot be read."""


async def requeue_jobs(service: Service) -> RequeueReport:
    """Go through all marks: send what has been due for longer than GRACE, unmark what is done.

    A job that is sent twice is done once, so this may run beside anything, itself too. Raises Unavailable; the
    next run does the rest.
    """
    sent = unmarked = waiting = broken = 0
    cursor = None
    while True:
        page = await service.marks.list(limit=PAGE, cursor=cursor)
        for marked in page.items:
            came = await _requeue(marked, service, may_send=waiting < MOST_FAILURES)
            sent += came == "sent"
            unmarked += came == "unmarked"
            waiting += came == "waiting"
            broken += came == "broken"
        cursor = page.next_cursor
        if cursor is None:
            return RequeueReport(sent, unmarked, waiting, broken)


async def _requeue(marked: MarkedJob, service: Service, *, may_send: bool) -> str:
    long_ago = service.clock.now() - GRACE
    if marked.since > long_ago:
        return "young"
    try:
        found = await find_due_job(marked.job, records=service.records)
    except (HistoryCorrupt, InvalidIdentifier):
        # Not raised: one job that nobody can do must not keep the others from being sent.
        _log.exception("a marked %s job cannot be looked up", marked.job.kind)
        return "broken"
    if found is None:
        # An erasure keeps a mark from being put back: then there is nothing left to do.
        with suppress(ErasureRunning):
            await unmark_job(marked.job, service)
        return "unmarked"
    if found.due is not None and found.due > long_ago:
        return "scheduled"
    sent = may_send and await send_job(marked.job, attempt=found.attempt, due=None, queue=service.queue)
    return "sent" if sent else "waiting"
