"""What each queue's job and each timer comes to: the operations, given the services."""

import logging
from collections.abc import Awaitable, Callable

from memnet.domain.access import Role
from memnet.domain.document import Actor
from memnet.domain.job import Job, JobKind
from memnet.domain.metric import REPLAY_DURATION, REPLAY_PATCHES, REPLAYS
from memnet.domain.replay import Replay, ReplayStatus
from memnet.domain.timestamps import to_text
from memnet.log_redaction import OwnWords
from memnet.operations.apply_conflict import apply_conflict
from memnet.operations.apply_retentions import apply_retentions
from memnet.operations.compact_documents import compact_documents
from memnet.operations.erase_tenants import erase_tenants
from memnet.operations.erase_users import erase_users
from memnet.operations.fail_replay import fail_replay
from memnet.operations.reconcile_events import reconcile_events
from memnet.operations.refresh_documents import refresh_documents
from memnet.operations.replay_snapshot import replay_snapshot
from memnet.operations.requeue_jobs import requeue_jobs
from memnet.operations.resume_reindexing import resume_reindexing
from memnet.operations.sign_heads import sign_heads
from memnet.operations.sweep_outboxes import sweep_outboxes
from memnet.operations.tell_backlog import tell_backlog
from memnet.wiring import Services
from workers.deliveries import Work, place_of
from workers.outcomes import MOST_STARTS
from workers.runtime import connection

log = logging.getLogger("memnet.workers")


class TimerFailed(Exception):
    """A timer's work failed; its next time does the rest."""


async def _replay(job: Job, _attempt: int, services: Services) -> None:
    began = to_text(services.clock.now())
    replay = await replay_snapshot(
        job,
        vault=services.vault,
        marks=services.marks,
        queue=services.queue,
        documents=services.documents,
        audit=services.audit,
        events=services.events,
        search=services.search,
        catalog=services.catalog,
        models=services.models,
        semantic_router=services.semantic_router,
        background=services.background,
        worker_principal=services.settings.worker_principal,
    )
    _tell_end(replay, began, services)


async def _fail_replay(job: Job, reason: str, services: Services) -> None:
    began = to_text(services.clock.now())
    replay = await fail_replay(job, reason, records=services.records, marks=services.marks, clock=services.clock)
    if replay is not None:
        _tell_end(replay, began, services)


def _tell_end(replay: Replay, began: str, services: Services) -> None:
    """Count it, unless it was over before: a message may come twice.

    The patches of a failed replay are counted when it is retried and ends, so that each is counted once.
    """
    if replay.updated_at < began:
        return
    services.telemetry.record(REPLAYS, 1, outcome=replay.status.value)
    seconds = max(0.0, replay.duration.total_seconds())
    services.telemetry.record(REPLAY_DURATION, seconds, outcome=replay.punctuality)
    if replay.status is not ReplayStatus.FAILED:
        for fate in replay.patches:
            services.telemetry.record(REPLAY_PATCHES, 1, outcome=fate.outcome)


async def _apply_conflict(job: Job, attempt: int, services: Services) -> None:
    await apply_conflict(
        job,
        attempt=attempt,
        vault=services.vault,
        marks=services.marks,
        queue=services.queue,
        documents=services.documents,
        audit=services.audit,
        catalog=services.catalog,
        background=services.background,
        worker_principal=services.settings.worker_principal,
    )


async def _reindex(job: Job, _attempt: int, services: Services) -> None:
    await resume_reindexing(
        job.tenant_id,
        job.job_id,
        events=services.events,
        search=services.search,
        clock=services.clock,
        ids=services.ids,
    )


async def _unmark(job: Job, _reason: str, services: Services) -> None:
    await services.marks.unmark(job)


REPLAY = Work(JobKind.REPLAY, _replay, _fail_replay, MOST_STARTS)
# A conflict has a schedule of its own: each message is one turn of it, and its number says which.
CONFLICT = Work(JobKind.CONFLICT, _apply_conflict, _unmark, None, sent_anew=False)
# The number of its attempt tells its starts apart, and does not count them. It goes on until the search is back.
REINDEX = Work(JobKind.REINDEX, _reindex, _unmark, None)


async def compact(services: Services) -> object:
    """Make the documents compact."""
    return await compact_documents(
        actor=_actor(services),
        documents=services.documents,
        audit=services.audit,
        events=services.events,
        search=services.search,
        catalog=services.catalog,
        clock=services.clock,
        ids=services.ids,
        background=services.background,
    )


async def refresh(services: Services) -> object:
    """Keep the documents fresh."""
    return await refresh_documents(
        actor=_actor(services),
        documents=services.documents,
        audit=services.audit,
        events=services.events,
        search=services.search,
        catalog=services.catalog,
        clock=services.clock,
        ids=services.ids,
        background=services.background,
    )


async def requeue(services: Services) -> object:
    """Send again the jobs that were lost on their way, and tell how old the oldest are."""
    report = await requeue_jobs(
        records=services.records, marks=services.marks, queue=services.queue, clock=services.clock
    )
    if services.telemetry.enabled:
        await tell_backlog(
            marks=services.marks,
            events=services.events,
            erasures=services.erasures,
            clock=services.clock,
            telemetry=services.telemetry,
        )
    return report


async def sweep(services: Services) -> object:
    """Flush what crashed writers left in the documents' outboxes."""
    return await sweep_outboxes(documents=services.documents, audit=services.audit, clock=services.clock)


async def sign(services: Services) -> object:
    """Sign a head for each user whose documents have changed."""
    return await sign_heads(
        users=services.users,
        documents=services.documents,
        audit=services.audit,
        records=services.records,
        keys=services.signing,
        clock=services.clock,
        erasures=services.erasures,
    )


async def reconcile(services: Services) -> object:
    """Index the events that are not known to be indexed."""
    return await reconcile_events(
        events=services.events, search=services.search, clock=services.clock, ids=services.ids
    )


async def erase(services: Services) -> object:
    """Go on with the erasures that run."""
    # Users first: the end of a large tenant does not delay them.
    users = await erase_users(None, erasing=services.erasing)
    return users + await erase_tenants(erasing=services.erasing)


async def retain(services: Services) -> object:
    """Remove what is stored for longer than the rules say."""
    return await apply_retentions(
        None,
        as_of=None,
        dry_run=False,
        users=services.users,
        documents=services.documents,
        audit=services.audit,
        events=services.events,
        search=services.search,
        records=services.records,
        vault=services.vault,
        marks=services.marks,
        holds=services.holds,
        catalog=services.catalog,
        clock=services.clock,
    )


def _actor(services: Services) -> Actor:
    return Actor(services.settings.worker_principal, frozenset({Role.REPLAY}))


async def on_time(name: str, work: Callable[[Services], Awaitable[object]]) -> None:
    """Do a timer's work and log its report. Raises TimerFailed, without the text of the failure: it may hold memory."""
    try:
        services = await connection.services()
    except Exception as error:
        raise _failed(name, error) from None
    with services.telemetry.span(name, "internal") as span:
        try:
            report = await work(services)
        except Exception as error:
            span.tell("place", place_of(error))
            span.fail()
            raise _failed(name, error) from None
        log.info("timer_done timer=%s report=%s", OwnWords(name), report)


def _failed(name: str, error: Exception) -> TimerFailed:
    log.error("timer_failed timer=%s error=%s", OwnWords(name), place_of(error))
    return TimerFailed(name)
