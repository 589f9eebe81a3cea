"""Tell telemetry how old the service's unfinished work is."""

from dataclasses import dataclass

from memnet.domain import erasure
from memnet.domain.errors import HistoryBroken
from memnet.domain.job import JobKind
from memnet.domain.metric import BACKLOG_AGE, ERASURES_OPEN_AGE, INDEX_LAG
from memnet.domain.timestamps import from_text
from memnet.operations.get_statistics import get_statistics
from memnet.ports import Clock, ErasureStore, EventStore, JobMarks, Search, Telemetry


@dataclass(frozen=True, slots=True)
class Backlog:
    """For how many seconds the oldest of them waits; 0: none does."""

    replays: float
    events: float
    erasures: float


async def tell_backlog(
    *,
    marks: JobMarks,
    events: EventStore,
    search: Search | None,
    erasures: ErasureStore,
    clock: Clock,
    telemetry: Telemetry,
) -> Backlog:
    """Read the marks and the fences of the whole service, and record for how long the oldest stand.

    Without a search service no event waits for it, and nothing is told of events. Raises Unavailable.
    """
    found = await get_statistics(marks=marks, events=events, clock=clock)
    backlog = Backlog(
        replays=found.jobs[JobKind.REPLAY].age(found.now),
        events=0.0 if search is None else found.events.age(found.now),
        erasures=await _oldest_erasure(erasures, clock),
    )
    telemetry.record(BACKLOG_AGE, backlog.replays)
    telemetry.record(ERASURES_OPEN_AGE, backlog.erasures)
    if search is not None:
        telemetry.record(INDEX_LAG, backlog.events)
    return backlog


async def _oldest_erasure(erasures: ErasureStore, clock: Clock) -> float:
    """For how many seconds the oldest of those that run does; one that cannot be read is told by the log of its run."""
    oldest = 0.0
    for scope in await erasures.erasing(None):
        stored = await erasures.read(scope)
        if stored is None:
            continue
        try:
            accepted = from_text(erasure.load(scope, stored.data).accepted_at)
        except HistoryBroken:
            continue
        oldest = max(oldest, (clock.now() - accepted).total_seconds())
    return oldest
