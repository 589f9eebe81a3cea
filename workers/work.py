"""What each queue's job and each timer comes to: the operations, given the services."""

import logging
from collections.abc import Awaitable, Callable

from memnet.domain.core.access import Role
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.metric import REPLAY_DURATION, REPLAY_PATCHES, REPLAYS
from memnet.domain.core.scope import Actor
from memnet.domain.core.timestamps import to_text
from memnet.domain.replay.replay import Replay, ReplayStatus
from memnet.log_redaction import LogSafe
from memnet.operations.documents.outbox import sweep_outboxes
from memnet.operations.events.reconcile_events import reconcile_events
from memnet.operations.events.reindex_events import resume_reindexing
from memnet.operations.governance.erase_tenant import erase_tenants
from memnet.operations.governance.erase_user import erase_users
from memnet.operations.governance.retention import apply_retentions
from memnet.operations.history.sign_checkpoints import sign_checkpoints
from memnet.operations.replay.attempt_conflict import attempt_conflict
from memnet.operations.replay.fail_replay import fail_replay
from memnet.operations.replay.replay_snapshot import replay_snapshot
from memnet.operations.service.backlog import report_backlog, requeue_jobs
from memnet.operations.upkeep.compact_documents import compact_documents
from memnet.operations.upkeep.refresh_documents import refresh_documents
from memnet.service import Service
from workers.deliveries import Work, error_origin
from workers.outcomes import MOST_STARTS
from workers.runtime import connection

log = logging.getLogger("memnet.workers")


class TimerFailed(Exception):
    """A timer's work failed; its next time does the rest."""


async def _replay(job: Job, _attempt: int, service: Service) -> None:
    began = to_text(service.clock.now())
    replay = await replay_snapshot(job, service)
    _tell_end(replay, began, service)


async def _fail_replay(job: Job, reason: str, service: Service) -> None:
    began = to_text(service.clock.now())
    replay = await fail_replay(job, reason, service)
    if replay is not None:
        _tell_end(replay, began, service)


def _tell_end(replay: Replay, began: str, service: Service) -> None:
    """Count it, unless it was over before: a message may come twice.

    The patches of a failed replay are counted when it is retried and ends, so that each is counted once.
    """
    if replay.updated_at < began:
        return
    service.telemetry.record(REPLAYS, 1, outcome=replay.status.value)
    seconds = max(0.0, replay.duration.total_seconds())
    service.telemetry.record(REPLAY_DURATION, seconds, outcome=replay.punctuality)
    if replay.status is not ReplayStatus.FAILED:
        for fate in replay.patches:
            service.telemetry.record(REPLAY_PATCHES, 1, outcome=fate.outcome)


async def _apply_conflict(job: Job, attempt: int, service: Service) -> None:
    await attempt_conflict(job, service, attempt=attempt)


async def _reindex(job: Job, _attempt: int, service: Service) -> None:
    await resume_reindexing(job.tenant_id, job.job_id, service)


async def _unmark(job: Job, _reason: str, service: Service) -> None:
    await service.marks.unmark(job)


REPLAY = Work(JobKind.REPLAY, _replay, _fail_replay, MOST_STARTS)
# A conflict has a schedule of its own: each message is one turn of it, and its number says which.
CONFLICT = Work(JobKind.CONFLICT, _apply_conflict, _unmark, None, sent_anew=False)
# The number of its attempt tells its starts apart, and does not count them. It goes on until the search is back.
REINDEX = Work(JobKind.REINDEX, _reindex, _unmark, None)


async def compact(service: Service) -> object:
    """Make the documents compact."""
    return await compact_documents(service, actor=_actor(service))


async def refresh(service: Service) -> object:
    """Keep the documents fresh."""
    return await refresh_documents(service, actor=_actor(service))


async def requeue(service: Service) -> object:
    """Send again the jobs that were lost on their way, and tell how old the oldest are."""
    report = await requeue_jobs(service)
    if service.telemetry.enabled:
        await report_backlog(service)
    return report


async def sweep(service: Service) -> object:
    """Flush what crashed writers left in the documents' outboxes."""
    return await sweep_outboxes(service)


async def sign(service: Service) -> object:
    """Sign a head for each user whose documents have changed."""
    return await sign_checkpoints(service)


async def reconcile(service: Service) -> object:
    """Index the events that are not known to be indexed."""
    return await reconcile_events(service)


async def erase(service: Service) -> object:
    """Go on with the erasures that run."""
    # Users first: the end of a large tenant does not delay them.
    users = await erase_users(None, service)
    return users + await erase_tenants(service)


async def retain(service: Service) -> object:
    """Remove what is stored for longer than the rules say."""
    return await apply_retentions(None, service, as_of=None, dry_run=False)


def _actor(service: Service) -> Actor:
    return Actor(service.settings.worker_principal, frozenset({Role.REPLAY}))


async def on_time(name: str, work: Callable[[Service], Awaitable[object]]) -> None:
    """Do a timer's work and log its report. Raises TimerFailed, without the text of the failure: it may hold memory."""
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
        log.info("timer_done timer=%s report=%s", LogSafe(name), report)


def _failed(name: str, error: Exception) -> TimerFailed:
    log.error("timer_failed timer=%s error=%s", LogSafe(name), error_origin(error))
    return TimerFailed(name)
