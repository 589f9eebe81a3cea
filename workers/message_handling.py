"""Handle a message: read its job, run it, and decide what to do with the message if the job fails."""

import asyncio
import base64
import json
import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

import azure.functions as func

from memnet.domain.core import job as jobs
from memnet.domain.core.errors import (
    ErasureRunning,
    HistoryCorrupt,
    Internal,
    InvalidIdentifier,
    MalformedRequest,
    MemnetError,
    TenantEnded,
    Unavailable,
)
from memnet.domain.core.job import ATTEMPT, QUEUES, TRACEPARENT, Job, JobKind
from memnet.domain.core.metric import DEAD_LETTERS
from memnet.domain.governance.waiting import WaitingKind
from memnet.log_redaction import LogSafe
from memnet.operations.replay.jobs import find_due_job
from memnet.service import Service
from workers.outcomes import OUTCOMES, RETRY_DELAYS, Outcome, delay
from workers.runtime import connection

FUNCTIONS: Mapping[JobKind, str] = MappingProxyType(
    {
        JobKind.REPLAY: "replay_snapshot",
        JobKind.CONFLICT: "attempt_conflict",
        JobKind.REINDEX: "resume_reindexing",
        JobKind.UPKEEP: "run_shard",
        JobKind.RETRACTION: "replay_snapshot",
    }
)
"""The function that handles each kind of job. Retractions share the queue of replays, and so its function."""
MAX_DEAD_LETTER_BODY = 65536
"""Bytes of an unreadable message that a dead letter keeps: it must fit into a message itself."""
log = logging.getLogger("memnet.workers")


@dataclass(frozen=True, slots=True)
class JobHandler:
    """How the jobs of one queue are run."""

    kind: JobKind
    run: Callable[[Job, int, Service], Awaitable[object]]
    """Called with the job and the number of the attempt."""
    on_failure: Callable[[Job, str, Service], Awaitable[object]]
    """Record that the job failed permanently, with this code, and remove its pending-job marker."""
    max_attempts: int | None
    """How often a job is started; None for no limit."""
    requeue: bool = True
    """Send a job that may succeed later to the queue with a delay. False: its marker sends it within two minutes."""
    beside: "JobHandler | None" = None
    """The handler of the other kind of jobs in the same queue, if there is one."""

    def attempts_exhausted(self, attempt: int) -> bool:
        """Return whether a job with this many attempts is not started again."""
        return self.max_attempts is not None and attempt >= self.max_attempts


class AbandonMessage(Exception):
    """Nothing could be decided about the message: the broker keeps it and delivers it again."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message as the broker delivered it."""

    body: bytes
    message_id: str
    session_id: str | None
    attempt: int
    """Earlier attempts of the job that its sender knew of; 0 for the first."""
    traceparent: str | None = None
    """The trace that the message was sent in, if any."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that can never be processed, and why."""

    queue: str
    reason: str
    """The error code."""
    description: str
    delivery: Delivery

    def to_text(self) -> str:
        """Return it as JSON, with `body`, or `body_base64` if that is not text or becomes much longer as JSON."""
        members = {
            "reason": self.reason,
            "description": self.description,
            "queue": self.queue,
            "message_id": self.delivery.message_id,
            "session_id": self.delivery.session_id,
            "attempt": self.delivery.attempt,
            "bytes": len(self.delivery.body),
        }
        body = self.delivery.body[:MAX_DEAD_LETTER_BODY]
        with suppress(UnicodeDecodeError):
            text = json.dumps({**members, "body": body.decode("utf-8")}, ensure_ascii=False)
            # A control character takes six characters in JSON.
            if len(text) <= 2 * MAX_DEAD_LETTER_BODY:
                return text
        return json.dumps({**members, "body_base64": base64.b64encode(body).decode("ascii")}, ensure_ascii=False)


async def receive(message: func.ServiceBusMessage, dead_letter: func.Out[str], handler: JobHandler) -> None:
    """Handle the message of a trigger, and output it as a dead letter if it can never be processed.

    Raises AbandonMessage: the broker must deliver the message again.
    """
    try:
        service = await connection.service()
    except Exception as error:
        log.error("services_unavailable error=%s", error_origin(error))
        raise AbandonMessage(type(error).__name__) from None
    properties = message.application_properties or {}
    attempt, traceparent = properties.get(ATTEMPT), properties.get(TRACEPARENT)
    delivery = Delivery(
        body=message.get_body(),
        message_id=message.message_id,
        session_id=message.session_id,
        attempt=attempt if isinstance(attempt, int) else 0,
        traceparent=traceparent if isinstance(traceparent, str) else None,
    )
    dead = await handle(delivery, handler, service)
    if dead is not None:
        dead_letter.set(dead.to_text())


async def handle(
    delivery: Delivery, handler: JobHandler, service: Service, *, retry_delays: Sequence[float] = RETRY_DELAYS
) -> DeadLetter | None:
    """Run the job of a message. Return its dead letter, or None if the message is completed.

    A job that may succeed later is retried after each of the `retry_delays` (seconds), then requeued with a delay. Its
    span continues the trace that the message was sent in. Raises AbandonMessage: the broker must deliver the message
    again.
    """
    name, telemetry = FUNCTIONS[handler.kind], service.telemetry
    with telemetry.span(name, "consumer", delivery.traceparent) as span:
        span.set_attribute("attempt", delivery.attempt)
        try:
            dead = await _handle(delivery, handler, service, retry_delays)
        except AbandonMessage:
            span.set_attribute("outcome", "redelivered")
            span.fail()
            raise
        span.set_attribute("outcome", "done" if dead is None else dead.reason)
        if dead is not None:
            span.fail()
            telemetry.record(DEAD_LETTERS, 1, operation=name, outcome=dead.reason)
        return dead


async def _handle(
    delivery: Delivery, handler: JobHandler, service: Service, retry_delays: Sequence[float]
) -> DeadLetter | None:
    """Raises AbandonMessage."""
    try:
        job = jobs.load(delivery.body)
        if handler.beside is not None and job.kind is handler.beside.kind:
            handler = handler.beside
        if job.kind is not handler.kind:
            raise MalformedRequest("The job is of another queue.")
    except MemnetError as error:
        return _dead_letter(handler.kind, delivery, error, None)
    if await _attempts_exhausted(job, delivery.attempt, handler, service):
        failure: MemnetError | None = Internal("The job was started again and again, and never ended.")
    else:
        failure = await _run_with_retries(job, delivery.attempt, handler, service, retry_delays)
    if failure is None:
        return None
    failure = await _cause(job, failure, service)
    if isinstance(failure, ErasureRunning):
        # No record, message or dead letter of the job may remain; the erasure removes its marker.
        log.info("job_discarded kind=%s job=%s code=%s", job.kind, job.job_id, ErasureRunning.code)
        return None
    outcome = OUTCOMES[failure.code]
    if outcome is Outcome.RETRY and await _postpone(job, delivery, handler, service):
        return None
    await _fail(job, handler, failure, service)
    if outcome is Outcome.COMPLETE:
        log.info("job_discarded kind=%s job=%s code=%s", job.kind, job.job_id, failure.code)
        return None
    await _mark_dead_letter(job, service)
    return _dead_letter(handler.kind, delivery, failure, job)


async def _run_with_retries(
    job: Job, attempt: int, handler: JobHandler, service: Service, retry_delays: Sequence[float]
) -> MemnetError | None:
    """Return the failure of the last try, if it failed."""
    failure = await _run(job, attempt, handler, service)
    for seconds in retry_delays:
        if failure is None or OUTCOMES[failure.code] is not Outcome.RETRY:
            break
        await asyncio.sleep(seconds)
        failure = await _run(job, attempt, handler, service)
    return failure


async def _run(job: Job, attempt: int, handler: JobHandler, service: Service) -> MemnetError | None:
    try:
        await handler.run(job, attempt, service)
    except MemnetError as error:
        log.warning("job_failed kind=%s job=%s code=%s", job.kind, job.job_id, error.code)
        return error
    except Exception as error:
        # Without the error's text: it may hold memory, and Azure would keep it with the logs.
        log.error("job_crashed kind=%s job=%s error=%s", job.kind, job.job_id, error_origin(error))
        return Internal(f"The worker failed with {type(error).__name__}.")
    return None


async def _cause(job: Job, failure: MemnetError, service: Service) -> MemnetError:
    """Return ErasureRunning or Unavailable if an erasure of the job's user explains the failure, else the failure.

    Unavailable: the erasure has not started or is withdrawn, so the job is retried. Raises AbandonMessage.
    """
    if job.user_id is None or isinstance(failure, TenantEnded):
        return failure
    is_refused = isinstance(failure, ErasureRunning)
    try:
        await service.erasures.check(job.scope)
        return Unavailable(dependency="blob_storage") if is_refused else failure
    except TenantEnded as ended:
        return ended
    except ErasureRunning as running:
        return running if await _has_started(job, service) else Unavailable(dependency="blob_storage")
    except Unavailable as error:
        if is_refused:
            raise AbandonMessage(error.code) from None
        return failure


async def _has_started(job: Job, service: Service) -> bool:
    """Return whether the erasure of the job's user has started; a corrupt fence counts. Raises AbandonMessage."""
    try:
        return await service.erasures.has_started(job.scope)
    except HistoryCorrupt:
        return True
    except Unavailable as error:
        raise AbandonMessage(error.code) from None


async def _postpone(job: Job, delivery: Delivery, handler: JobHandler, service: Service) -> bool:
    """Requeue a job for later; return False if its attempts are exhausted. Raises AbandonMessage."""
    if not handler.requeue:
        return True
    attempt = await _next_attempt(job, delivery, service)
    if attempt is None:
        return True
    if await _attempts_exhausted(job, attempt, handler, service):
        return False
    try:
        await service.queue.send(job, attempt=attempt, due=service.clock.now() + delay(delivery.attempt))
    except Unavailable as error:
        raise AbandonMessage(error.code) from None
    log.warning("job_postponed kind=%s job=%s attempt=%d", job.kind, job.job_id, attempt)
    return True


async def _attempts_exhausted(job: Job, attempt: int, handler: JobHandler, service: Service) -> bool:
    """Count the attempts since the job was last requested, which its record knows. Raises AbandonMessage."""
    if not handler.attempts_exhausted(attempt):
        return False
    try:
        due = await find_due_job(job, service)
    except HistoryCorrupt:
        return True
    except Unavailable as error:
        raise AbandonMessage(error.code) from None
    return due is None or handler.attempts_exhausted(attempt - due.attempts_when_failed)


async def _next_attempt(job: Job, delivery: Delivery, service: Service) -> int | None:
    """Return the number that the job's marker would send it with, too; None if the job has ended."""
    try:
        due = await find_due_job(job, service)
    except (HistoryCorrupt, Unavailable):
        return delivery.attempt + 1
    return None if due is None else max(due.attempt, delivery.attempt + 1)


async def _fail(job: Job, handler: JobHandler, failure: MemnetError, service: Service) -> None:
    """Raises AbandonMessage."""
    try:
        try:
            await handler.on_failure(job, failure.code, service)
        except (HistoryCorrupt, InvalidIdentifier, ErasureRunning):
            # There is no record to write the failure to, but the marker would send the job again.
            await service.marks.unmark(job)
    except Unavailable as error:
        raise AbandonMessage(error.code) from None


async def _mark_dead_letter(job: Job, service: Service) -> None:
    """Mark the job for the list of what waits. Raises AbandonMessage."""
    if job.user_id is None:
        return
    try:
        await service.waiting.mark(job.scope, WaitingKind.DEAD_LETTER, f"{job.kind}/{job.job_id}")
    except (ErasureRunning, TenantEnded):
        return
    except Unavailable as error:
        raise AbandonMessage(error.code) from None


def _dead_letter(kind: JobKind, delivery: Delivery, error: MemnetError, job: Job | None) -> DeadLetter:
    """Log and return the dead letter. An alert matches the first word of the line: it must not change.

    The message's id names tenant and user. Only the dead letter holds it, because a log outlives their erasure.
    """
    job_id = "unreadable" if job is None else job.job_id
    log.error("job_dead_lettered queue=%s code=%s job=%s", QUEUES[kind], error.code, job_id)
    return DeadLetter(QUEUES[kind], error.code.value, error.message, delivery)


def error_origin(error: BaseException) -> LogSafe:
    """Return the type of an exception and the frame that raised it, without the exception's text."""
    frames = traceback.extract_tb(error.__traceback__)
    frame = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return LogSafe(f"{type(error).__name__}{frame}")
