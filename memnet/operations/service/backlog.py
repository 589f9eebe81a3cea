"""Count the unfinished jobs and events, report their age, and send lost jobs again."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from memnet.domain.core.errors import ErasureRunning, HistoryCorrupt, InvalidIdentifier
from memnet.domain.core.job import JobKind
from memnet.domain.core.metric import ERASURE_OLDEST_AGE, INDEX_LAG, REPLAY_OLDEST_AGE
from memnet.domain.core.scope import Json
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.governance import erasure, tenant_erasure
from memnet.domain.governance.erasure import Erasure
from memnet.domain.governance.tenant_erasure import TenantErasure
from memnet.operations.replay.jobs import find_due_job, send_job, unmark_job
from memnet.paging import PAGE_SIZE, Listing, rows
from memnet.ports import Clock
from memnet.service import Service
from memnet.stores import Marked, MarkedJob

MOST = 5000
"""The number of markers of each sort that a request reads; a longer backlog is reported as incomplete."""

Mark = TypeVar("Mark", Marked, MarkedJob)
Sort = TypeVar("Sort")


@dataclass(frozen=True, slots=True)
class Waiting:
    """The unfinished work of one kind."""

    count: int
    oldest: datetime | None

    def members(self, now: datetime) -> Json:
        """Return the members of the response."""
        return {
            "waiting": self.count,
            "oldest_at": None if self.oldest is None else to_text(self.oldest),
            "oldest_age_seconds": round(self.age(now), 3),
        }

    def age(self, now: datetime) -> float:
        """Return the age of the oldest in seconds; 0 if there is none."""
        return 0.0 if self.oldest is None else max(0.0, (now - self.oldest).total_seconds())

    def and_one(self, since: datetime) -> "Waiting":
        """Return it with one more that waits since then."""
        return Waiting(self.count + 1, since if self.oldest is None else min(self.oldest, since))


NOTHING = Waiting(0, None)


@dataclass(frozen=True, slots=True)
class Statistics:
    """The work of all tenants that waits; it names none of them."""

    now: datetime
    jobs: dict[JobKind, Waiting]
    events: Waiting
    complete: bool
    """False: there are more marks than were read, so that counts and ages may be too small."""

    def members(self) -> Json:
        """Return the members of the response."""
        return {
            "jobs": {kind.value: waiting.members(self.now) for kind, waiting in self.jobs.items()},
            "events_to_index": self.events.members(self.now),
            "complete": self.complete,
        }


async def get_statistics(service: Service, *, most: int | None = MOST) -> Statistics:
    """Read up to `most` marks of jobs that are not finished, and of events that the index has not confirmed.

    None: all of them, however many. Raises Unavailable.
    """
    (jobs, all_jobs), (unindexed, all_events) = await asyncio.gather(
        _read(service.marks.list, _kind, most), _read(service.events.list_marked, _any, most)
    )
    return Statistics(
        now=service.clock.now(),
        jobs={kind: jobs.get(kind, NOTHING) for kind in JobKind},
        events=unindexed.get(None, NOTHING),
        complete=all_jobs and all_events,
    )


async def _read(
    listing: Listing[Mark], sort_of: Callable[[Mark], Sort], most: int | None
) -> tuple[Mapping[Sort, Waiting], bool]:
    """Marks come in the order of their names, so that the oldest may be anywhere among them."""
    found: dict[Sort, Waiting] = {}
    read, cursor = 0, None
    while True:
        page = await listing(limit=PAGE_SIZE, cursor=cursor)
        for mark in page.items:
            sort = sort_of(mark)
            found[sort] = found.get(sort, NOTHING).and_one(mark.since)
        read, cursor = read + len(page.items), page.next_cursor
        if cursor is None or (most is not None and read >= most):
            return found, cursor is None


def _kind(mark: MarkedJob) -> JobKind:
    return mark.job.kind


def _any(_: Marked) -> None:
    return None


UNREADABLE_AGE = 365 * 86_400.0
"""The age in seconds reported of an erasure whose journal cannot be read: it needs an operator."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """For how many seconds the oldest of them waits; 0: none does."""

    replays: float
    events: float
    erasures: float


async def report_backlog(service: Service) -> Backlog:
    """Read the marks and the fences of the whole service, and record for how long the oldest stand.

    All marks are read: the oldest may come after any number of others. Raises Unavailable.
    """
    found = await get_statistics(service, most=None)
    backlog = Backlog(
        replays=found.jobs[JobKind.REPLAY].age(found.now),
        events=found.events.age(found.now),
        erasures=await _oldest_erasure(service),
    )
    service.telemetry.record(REPLAY_OLDEST_AGE, backlog.replays)
    service.telemetry.record(ERASURE_OLDEST_AGE, backlog.erasures)
    service.telemetry.record(INDEX_LAG, backlog.events)
    return backlog


async def _oldest_erasure(service: Service) -> float:
    """For how many seconds the oldest erasure of a user or of a tenant has run."""
    oldest = 0.0
    for scope in await service.erasures.erasing(None):
        stored = await service.erasures.read(scope)
        if stored is not None:
            oldest = max(oldest, _age(partial(erasure.load, scope, stored.data), service.clock))
    for tenant_id in await service.erasures.list_ending():
        stored = await service.erasures.read_end(tenant_id)
        if stored is not None:
            oldest = max(oldest, _age(partial(tenant_erasure.load, tenant_id, stored.data), service.clock))
    return oldest


def _age(load: Callable[[], Erasure | TenantErasure], clock: Clock) -> float:
    try:
        return (clock.now() - from_text(load().accepted_at)).total_seconds()
    except HistoryCorrupt:
        return UNREADABLE_AGE


GRACE = timedelta(minutes=1)
"""How long a job may be on its way before it counts as lost."""
PAGE = 500
MOST_FAILURES = 3
"""After so many jobs in vain the broker is taken for down: each waits as long as a call may take, and a run may not."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RequeueReport:
    """The result of one run."""

    sent: int
    unmarked: int
    """Marks of jobs that are finished, rest, or are not known."""
    waiting: int
    """Jobs that are due but could not be sent."""
    broken: int = 0
    """Jobs whose record cannot be read."""


async def requeue_jobs(service: Service) -> RequeueReport:
    """Go through all marks: send what has been due for longer than GRACE, unmark what is done.

    A job that is sent twice is done once, so concurrent runs are safe. Raises Unavailable; the
    next run does the rest.
    """
    sent = unmarked = waiting = broken = 0
    async for marked in rows(service.marks.list, PAGE):
        came = await _requeue(marked, service, may_send=waiting < MOST_FAILURES)
        sent += came == "sent"
        unmarked += came == "unmarked"
        waiting += came == "waiting"
        broken += came == "broken"
    return RequeueReport(sent, unmarked, waiting, broken)


async def _requeue(marked: MarkedJob, service: Service, *, may_send: bool) -> str:
    long_ago = service.clock.now() - GRACE
    if marked.since > long_ago:
        return "young"
    try:
        found = await find_due_job(marked.job, records=service.records)
    except (HistoryCorrupt, InvalidIdentifier):
        # Not raised: one unreadable job must not keep the others from being sent.
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
