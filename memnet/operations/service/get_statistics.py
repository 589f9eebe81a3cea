"""Count the work that waits, and tell since when."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from memnet.domain.core.job import JobKind
from memnet.domain.core.scope import Json
from memnet.domain.core.timestamps import to_text
from memnet.ports import Page
from memnet.service import Service
from memnet.stores import Marked, MarkedJob

PAGE = 1000
MOST = 5000
"""So many marks of each sort are read for whoever waits for the answer; a longer backlog is told as incomplete."""

Mark = TypeVar("Mark", Marked, MarkedJob)
Sort = TypeVar("Sort")


@dataclass(frozen=True, slots=True)
class Waiting:
    """Work of one kind that is not finished."""

    count: int
    oldest: datetime | None

    def members(self, now: datetime) -> Json:
        """What the API tells of it."""
        return {
            "waiting": self.count,
            "oldest_at": None if self.oldest is None else to_text(self.oldest),
            "oldest_age_seconds": round(self.age(now), 3),
        }

    def age(self, now: datetime) -> float:
        """For how many seconds the oldest waits; 0: none does."""
        return 0.0 if self.oldest is None else max(0.0, (now - self.oldest).total_seconds())

    def and_one(self, since: datetime) -> "Waiting":
        """With one more, that waits since then."""
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
        """What the API tells of it."""
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
    listing: Callable[..., Awaitable[Page[Mark]]], sort_of: Callable[[Mark], Sort], most: int | None
) -> tuple[Mapping[Sort, Waiting], bool]:
    """Marks come in the order of their names, so that the oldest may be anywhere among them."""
    found: dict[Sort, Waiting] = {}
    read, cursor = 0, None
    while True:
        page = await listing(limit=PAGE, cursor=cursor)
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
