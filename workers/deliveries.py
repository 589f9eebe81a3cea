"""From a message to its end: read the job, do it, and decide what becomes of the message if it fails."""

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
from memnet.log_redaction import LogSafe
from memnet.operations.replay.find_due_job import find_due_job
from memnet.service import Service
from workers.outcomes import OUTCOMES, PATIENCE, Outcome, delay
from workers.runtime import connection

NAMES: Mapping[JobKind, str] = MappingProxyType(
    {JobKind.REPLAY: "replay_snapshot", JobKind.CONFLICT: "attempt_conflict", JobKind.REINDEX: "resume_reindexing"}
)
"""The operation that does each kind of job, which is the name of its function, too."""
MOST_OF_A_BODY = 65536
"""So many bytes of an unreadable message are kept: a dead letter has to fit into a message itself."""
DONE, REDELIVERED = "done", "redelivered"
"""What became of a message, if not a dead letter."""
log = logging.getLogger("memnet.workers")


@dataclass(frozen=True, slots=True)
class Work:
    """What is done about the jobs of one queue."""

    kind: JobKind
    do: Callable[[Job, int, Service], Awaitable[object]]
    """Takes the number of the delivery's attempt, too."""
    give_up: Callable[[Job, str, Service], Awaitable[object]]
    """Record that the job, which failed with this code, will not be tried again, and take its mark away."""
    most_starts: int | None
    """How often a job may be begun; None: no matter how often."""
    sent_anew: bool = True
    """Whether a job that may succeed later is sent for later here; False: its mark has it sent within two minutes."""

    def is_worn_out(self, attempt: int) -> bool:
        """Whether a job with this many starts is not begun again."""
        return self.most_starts is not None and attempt >= self.most_starts


class Redelivered(Exception):
    """Nothing could be decided about the message: the broker keeps it and delivers it again."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message as it came."""

    body: bytes
    message_id: str
    session_id: str | None
    attempt: int
    """How often the job was begun before this, as far as its sender knew; 0 for the first time."""
    traceparent: str | None = None
    """The step it was sent in; None: nobody told."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that will never be worked off, and why."""

    queue: str
    reason: str
    """The error's code."""
    description: str
    delivery: Delivery

    def to_text(self) -> str:
        """As JSON; `body` is what came, `body_base64` if it is no text or much longer as JSON."""
        known = {
            "reason": self.reason,
            "description": self.description,
            "queue": self.queue,
            "message_id": self.delivery.message_id,
            "session_id": self.delivery.session_id,
            "attempt": self.delivery.attempt,
            "bytes": len(self.delivery.body),
        }
        kept = self.delivery.body[:MOST_OF_A_BODY]
        with suppress(UnicodeDecodeError):
            text = json.dumps({**known, "body": kept.decode("utf-8")}, ensure_ascii=False)
            # Control characters are six characters each in JSON.
            if len(text) <= 2 * MOST_OF_A_BODY:
                return text
        return json.dumps({**known, "body_base64": base64.b64encode(kept).decode("ascii")}, ensure_ascii=False)


async def receive(message: func.ServiceBusMessage, dead_letter: func.Out[str], work: Work) -> None:
    """Do the job of a trigger's message, which may come out as a dead letter. Raises Redelivered."""
    try:
        service = await connection.service()
    except Exception as error:
        log.error("services_unavailable error=%s", error_origin(error))
        raise Redelivered(type(error).__name__) from None
    delivery = Delivery(
        body=message.get_body(),
        message_id=message.message_id,
        session_id=message.session_id,
        attempt=_attempt(message),
        traceparent=_traceparent(message),
    )
    refused = await deliver(delivery, work, service)
    if refused is not None:
        dead_letter.set(refused.to_text())


def _attempt(message: func.ServiceBusMessage) -> int:
    attempt = (message.application_properties or {}).get(ATTEMPT)
    return attempt if isinstance(attempt, int) else 0


def _traceparent(message: func.ServiceBusMessage) -> str | None:
    given = (message.application_properties or {}).get(TRACEPARENT)
    return given if isinstance(given, str) else None


async def deliver(
    delivery: Delivery, work: Work, service: Service, *, patience: Sequence[float] = PATIENCE
) -> DeadLetter | None:
    """Do the job of a message; return the dead letter it has become, or None if it is done with.

    What may succeed later is tried again after each number of seconds in `patience`, then sent anew for later.
    Raises Redelivered when that fails, too. It goes on with the trace that the message was sent in.
    """
    name, telemetry = NAMES[work.kind], service.telemetry
    with telemetry.span(name, "consumer", delivery.traceparent) as span:
        span.set_attribute("attempt", delivery.attempt)
        try:
            dead = await _deliver(delivery, work, service, patience)
        except Redelivered:
            span.set_attribute("outcome", REDELIVERED)
            span.fail()
            raise
        span.set_attribute("outcome", DONE if dead is None else dead.reason)
        if dead is not None:
            span.fail()
            telemetry.record(DEAD_LETTERS, 1, operation=name, outcome=dead.reason)
        return dead


async def _deliver(delivery: Delivery, work: Work, service: Service, patience: Sequence[float]) -> DeadLetter | None:
    """Raises Redelivered."""
    try:
        job = jobs.load(delivery.body)
        if job.kind is not work.kind:
            raise MalformedRequest("The job is of another queue.")
    except MemnetError as error:
        return _dead(work.kind, delivery, error, None)
    if work.is_worn_out(delivery.attempt) and await _was_begun_too_often(job, delivery.attempt, work, service):
        failure: MemnetError | None = Internal("The job was begun again and again, and never ended.")
    else:
        failure = await _try(job, delivery.attempt, work, service, patience)
    if failure is None:
        return None
    failure = await _cause(job, failure, service)
    if isinstance(failure, ErasureRunning):
        # No record, no message and no dead letter may be left of it; its mark goes with all that is removed.
        log.info("job_void kind=%s job=%s code=%s", job.kind, job.job_id, ErasureRunning.code)
        return None
    outcome = OUTCOMES[failure.code]
    if outcome is Outcome.RETRY and await _is_postponed(job, delivery, work, service):
        return None
    await _give_up(job, work, failure, service)
    if outcome is Outcome.COMPLETE:
        log.info("job_void kind=%s job=%s code=%s", job.kind, job.job_id, failure.code)
        return None
    return _dead(work.kind, delivery, failure, job)


async def _try(job: Job, attempt: int, work: Work, service: Service, patience: Sequence[float]) -> MemnetError | None:
    """Return the failure that remained."""
    failure = await _once(job, attempt, work, service)
    for seconds in patience:
        if failure is None or OUTCOMES[failure.code] is not Outcome.RETRY:
            break
        await asyncio.sleep(seconds)
        failure = await _once(job, attempt, work, service)
    return failure


async def _once(job: Job, attempt: int, work: Work, service: Service) -> MemnetError | None:
    try:
        await work.do(job, attempt, service)
    except MemnetError as error:
        log.warning("job_failed kind=%s job=%s code=%s", job.kind, job.job_id, error.code)
        return error
    except Exception as error:
        # Not its text, which may hold memory, and which Azure would keep with the logs.
        log.error("job_crashed kind=%s job=%s error=%s", job.kind, job.job_id, error_origin(error))
        return Internal(f"The worker failed with {type(error).__name__}.")
    return None


async def _cause(job: Job, failure: MemnetError, service: Service) -> MemnetError:
    """Return ErasureRunning or Unavailable if an erasure of the job's user explains the failure, else the failure.

    Unavailable: the erasure has not started or is withdrawn, so the job is retried. Raises Redelivered.
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
            raise Redelivered(error.code) from None
        return failure


async def _has_started(job: Job, service: Service) -> bool:
    """Return whether the erasure of the job's user has started; a fence that is corrupt counts. Raises Redelivered."""
    try:
        return await service.erasures.has_started(job.scope)
    except HistoryCorrupt:
        return True
    except Unavailable as error:
        raise Redelivered(error.code) from None


async def _is_postponed(job: Job, delivery: Delivery, work: Work, service: Service) -> bool:
    """Have the job done later, unless it was begun too often. Raises Redelivered."""
    if not work.sent_anew:
        return True
    attempt = await _next_attempt(job, delivery, service)
    if attempt is None:
        return True
    if work.is_worn_out(attempt) and await _was_begun_too_often(job, attempt, work, service):
        return False
    try:
        await service.queue.send(job, attempt=attempt, due=service.clock.now() + delay(delivery.attempt))
    except Unavailable as error:
        raise Redelivered(error.code) from None
    log.warning("job_postponed kind=%s job=%s attempt=%d", job.kind, job.job_id, attempt)
    return True


async def _was_begun_too_often(job: Job, attempt: int, work: Work, service: Service) -> bool:
    """Ask the record, which knows the starts since somebody asked for the job anew. Raises Redelivered."""
    try:
        due = await find_due_job(job, records=service.records)
    except HistoryCorrupt:
        return True
    except Unavailable as error:
        raise Redelivered(error.code) from None
    return due is None or work.is_worn_out(attempt - due.given_up_at)


async def _next_attempt(job: Job, delivery: Delivery, service: Service) -> int | None:
    """The number under which the job would be sent again from its mark, too; None if it is done meanwhile."""
    try:
        due = await find_due_job(job, records=service.records)
    except (HistoryCorrupt, Unavailable):
        return delivery.attempt + 1
    return None if due is None else max(due.attempt, delivery.attempt + 1)


async def _give_up(job: Job, work: Work, failure: MemnetError, service: Service) -> None:
    """Raises Redelivered."""
    try:
        try:
            await work.give_up(job, failure.code, service)
        except (HistoryCorrupt, InvalidIdentifier, ErasureRunning):
            # There is no record to write it to; but the mark would have the job sent again.
            await service.marks.unmark(job)
    except Unavailable as error:
        raise Redelivered(error.code) from None


def _dead(kind: JobKind, delivery: Delivery, error: MemnetError, job: Job | None) -> DeadLetter:
    """Operators are alerted by this line: its first word stays as it is.

    The message's own id names tenant and user, and a log outlives their erasure: it stands in the dead letter alone.
    """
    job_id = "unreadable" if job is None else job.job_id
    log.error("job_dead_lettered queue=%s code=%s job=%s", QUEUES[kind], error.code, job_id)
    return DeadLetter(QUEUES[kind], error.code.value, error.message, delivery)


def error_origin(error: BaseException) -> LogSafe:
    """Name the type of an exception and the frame it came from, without its text."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return LogSafe(f"{type(error).__name__}{where}")
