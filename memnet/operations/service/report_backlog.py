"""Tell telemetry how old the service's unfinished work is."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from memnet.domain.core.errors import HistoryCorrupt
from memnet.domain.core.job import JobKind
from memnet.domain.core.metric import ERASURE_OLDEST_AGE, INDEX_LAG, REPLAY_OLDEST_AGE
from memnet.domain.core.timestamps import from_text
from memnet.domain.governance import erasure, tenant_erasure
from memnet.domain.governance.erasure import Erasure
from memnet.domain.governance.tenant_erasure import TenantErasure
from memnet.operations.service.get_statistics import get_statistics
from memnet.ports import Clock
from memnet.service import Service

UNREADABLE_AGE = 365 * 86_400.0
"""Told of an erasure whose journal cannot be read, in seconds: it never ends by itself, and somebody has to know."""


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
