"""The handler of each queue's jobs, and the work of each timer."""

import logging
from collections.abc import Awaitable, Callable

from memnet.domain.core.errors import MemnetError
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.metric import REPLAY_DURATION, REPLAY_PATCHES, REPLAYS
from memnet.domain.core.timestamps import to_text
from memnet.domain.replay.replay import Replay, ReplayStatus
from memnet.domain.upkeep.marks import Work
from memnet.log_redaction import LogSafe
from memnet.operations.events.index_turns import index_turns, reconcile_turns
from memnet.operations.events.reconcile_events import reconcile_events
from memnet.operations.events.reindex_events import resume_reindexing
from memnet.operations.events.reindex_turns import any_searchable
from memnet.operations.governance import erase_tenant, erase_user
from memnet.operations.governance.run_retraction import fail_retraction, run_retraction
from memnet.operations.replay.conflicts import attempt_conflict
from memnet.operations.replay.replays import fail_replay, replay_snapshot
from memnet.operations.service import backlog
from memnet.operations.service.run_shard import run_job, send_shards
from memnet.ports import StoreConflict
from memnet.service import Service
from workers.message_handling import JobHandler, error_origin
from workers.outcomes import MAX_ATTEMPTS
from workers.runtime import connection

log = logging.getLogger("memnet.workers")


class TimerFailed(Exception):
    """The work of a timer failed; the next run continues it."""


async def _replay(job: Job, _attempt: int, service: Service) -> None:
    started = to_text(service.clock.now())
    await _index_turns(job, service)
    _count_end(await replay_snapshot(job, service), started, service)


async def _index_turns(job: Job, service: Service) -> None:
    """Index all of the user's marked snapshots at once. A failure delays no replay: the timer indexes them later."""
    if not any_searchable(service):
        return
    try:
        await index_turns(job.scope, service)
    except (MemnetError, StoreConflict) as error:
        log.warning("turns_not_indexed code=%s", error.code if isinstance(error, MemnetError) else "store_conflict")


async def _fail_replay(job: Job, reason: str, service: Service) -> None:
    started = to_text(service.clock.now())
    replay = await fail_replay(job, reason, service)
    if replay is not None:
        _count_end(replay, started, service)


def _count_end(replay: Replay, started: str, service: Service) -> None:
    """Count a replay that ended after `started`. One that ended earlier is counted: its message came twice.

    The patches of a failed replay are counted when it is retried and ends, so that each is counted once.
    """
    if not replay.finished or replay.updated_at < started:
        return
    service.telemetry.record(REPLAYS, 1, outcome=replay.status.value)
    seconds = max(0.0, replay.duration.total_seconds())
    service.telemetry.record(REPLAY_DURATION, seconds, outcome=replay.punctuality)
    if replay.status is not ReplayStatus.FAILED:
        for patch in replay.patches:
            service.telemetry.record(REPLAY_PATCHES, 1, outcome=patch.outcome)


async def _unmark(job: Job, _reason: str, service: Service) -> None:
    await service.marks.unmark(job)


RETRACTION = JobHandler(
    JobKind.RETRACTION, lambda job, _, service: run_retraction(job, service), fail_retraction, MAX_ATTEMPTS
)
# The sessions of the queue keep the replays and the retractions of a user one after the other.
REPLAY = JobHandler(JobKind.REPLAY, _replay, _fail_replay, MAX_ATTEMPTS, beside=RETRACTION)
# A conflict has a schedule of its own: each message is one attempt of it, with the number of the attempt.
CONFLICT = JobHandler(
    JobKind.CONFLICT,
    lambda job, attempt, service: attempt_conflict(job, service, attempt=attempt),
    _unmark,
    None,
    requeue=False,
)
# Its attempt numbers only distinguish messages. It is retried until the search service is available.
REINDEX = JobHandler(
    JobKind.REINDEX,
    lambda job, _, service: resume_reindexing(job.tenant_id or "", job.job_id, service),
    _unmark,
    None,
)


async def _nothing(_job: Job, _reason: str, _service: Service) -> None:
    """The marks remain: the next timer sends the job of the shard again."""


UPKEEP = JobHandler(JobKind.UPKEEP, lambda job, _, service: run_job(job, service), _nothing, None, requeue=False)


async def reconcile_index(service: Service) -> object:
    """Index the events and the snapshots that wait for the index."""
    return await reconcile_events(service), await reconcile_turns(service)


async def tend_users(service: Service) -> object:
    """Send a job for each shard in which users have changed."""
    return await send_shards(Work.CHANGED, service)


async def apply_due(service: Service) -> object:
    """Send a job for each shard in which users are due."""
    return await send_shards(Work.DUE, service)


async def mark_all_users(service: Service) -> object:
    """Send a job for each shard whose users have no due marks by the current rules."""
    return await send_shards(Work.ALL, service)


async def requeue_jobs(service: Service) -> object:
    """Send lost jobs again, and record the age of the oldest if telemetry is collected."""
    report = await backlog.requeue_jobs(service)
    if service.telemetry.enabled:
        await backlog.report_backlog(service, scheduled=report.scheduled)
    return report


async def erase_users(service: Service) -> object:
    """Continue the running erasures: users first, so that a large tenant does not delay them."""
    users = await erase_user.erase_users(None, service)
    return users + await erase_tenant.erase_tenants(service)


async def run_timer(name: str, work: Callable[[Service], Awaitable[object]]) -> None:
    """Run the work of a timer and log its report.

    Raises TimerFailed: the work failed. The text of its error may hold memory, and is left out.
    """
    try:
        service = await connection.service()
    except Exception as error:
        raise _failed(name, error) from None
    with service.telemetry.span(name, "internal") as span:
        try:
            report = await work(service)
        except Exception as error:
            span.set_attribute("place", error_origin(error))
            span.fail()
            raise _failed(name, error) from None
        log.info("timer_completed timer=%s report=%s", LogSafe(name), report)


def _failed(name: str, error: Exception) -> TimerFailed:
    log.error("timer_failed timer=%s error=%s", LogSafe(name), error_origin(error))
    return TimerFailed(name)
