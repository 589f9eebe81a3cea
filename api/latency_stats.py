"""Latencies and statuses of this process in the last hour, in bounded memory and without tenants or users.

Percentiles come from a histogram whose buckets grow by 10 %: they are at most 10 % too high.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from memnet.domain.core.access import ROLES
from memnet.domain.core.timestamps import to_text
from memnet.ports import Clock

MINUTES: Final = 60
"""Minutes that are kept, including the current one."""
OTHER: Final = "other"
"""Everything that is not an operation: pages, health checks, unknown paths."""
WRITES: Final = frozenset({"patch_document", "replace_document", "delete_document"})
"""Operations that a stale ETag refuses."""
STALE: Final = 412
ABANDONED: Final = "abandoned"
"""The status of a request whose client left before the response."""

_STEP: Final = math.log(1.1)
_FIRST_MS: Final = 0.1
_LAST_BUCKET: Final = 150
"""Everything above 160 s."""


@dataclass(slots=True)
class _Tally:
    """Requests of one or more operations in a period."""

    statuses: Counter[int | None] = field(default_factory=Counter)
    buckets: Counter[int] = field(default_factory=Counter)
    longest_ms: float = 0.0

    def add(self, status: int | None, ms: float) -> None:
        self.statuses[status] += 1
        bucket = 0 if ms <= _FIRST_MS else min(_LAST_BUCKET, math.ceil(math.log(ms / _FIRST_MS) / _STEP))
        self.buckets[bucket] += 1
        self.longest_ms = max(self.longest_ms, ms)

    def merge(self, other: "_Tally") -> None:
        self.statuses.update(other.statuses)
        self.buckets.update(other.buckets)
        self.longest_ms = max(self.longest_ms, other.longest_ms)

    @property
    def count(self) -> int:
        return self.statuses.total()

    def times(self) -> dict[str, float | None]:
        return {f"p{share}_ms": self._percentile(share) for share in (50, 95, 99)}

    def _percentile(self, share: int) -> float | None:
        """Return the nearest-rank percentile; None without requests."""
        left = math.ceil(self.count * share / 100)
        for bucket in sorted(self.buckets):
            left -= self.buckets[bucket]
            if left <= 0 and bucket == _LAST_BUCKET:
                return round(self.longest_ms, 3)
            if left <= 0:
                return round(min(self.longest_ms, _FIRST_MS * math.exp(bucket * _STEP)), 3)
        return None


class LatencyStats:
    """A ring of minutes, bounded by the number of operations and statuses."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._started = clock.now()
        self._ring: list[tuple[int, dict[str, _Tally]]] = [(-1, {})] * MINUTES

    def record(self, operation: str | None, status: int | None, seconds: float) -> None:
        """Count one request; `status` is None if the client left before the response."""
        minute = int(self._clock.now().timestamp() // 60)
        found, tallies = self._ring[minute % MINUTES]
        if found != minute:
            tallies = {}
            self._ring[minute % MINUTES] = (minute, tallies)
        name = operation if operation is not None and operation in ROLES else OTHER
        tallies.setdefault(name, _Tally()).add(status, seconds * 1000)

    def report(self, minutes: int) -> dict[str, Any]:
        """Return the counts of the last `minutes`, including the current one."""
        last = int(self._clock.now().timestamp() // 60)
        known = dict(self._ring)
        span = [(minute, known.get(minute, {})) for minute in range(last - minutes + 1, last + 1)]
        names = sorted({name for _, tallies in span for name in tallies})
        return {
            "since": to_text(max(self._started, _start(span[0][0]))),
            "until": to_text(self._clock.now()),
            "operations": [
                _operation(name, _merged(tallies[name] for _, tallies in span if name in tallies)) for name in names
            ],
            "by_minute": [_point(minute, tallies) for minute, tallies in span],
        }


def _merged(tallies: Iterable[_Tally]) -> _Tally:
    whole = _Tally()
    for tally in tallies:
        whole.merge(tally)
    return whole


def _operation(name: str, tally: _Tally) -> dict[str, Any]:
    statuses = {ABANDONED if status is None else str(status): count for status, count in tally.statuses.items()}
    return {
        "operation": name,
        "requests": tally.count,
        **tally.times(),
        "longest_ms": round(tally.longest_ms, 3),
        "statuses": dict(sorted(statuses.items())),
    }


def _point(minute: int, tallies: dict[str, _Tally]) -> dict[str, Any]:
    """Return one minute of all operations, without OTHER."""
    whole = _merged(tally for name, tally in tallies.items() if name != OTHER)
    writes = _merged(tally for name, tally in tallies.items() if name in WRITES)
    return {
        "minute": to_text(_start(minute)),
        "requests": whole.count,
        **whole.times(),
        "writes": writes.count,
        "stale_writes": writes.statuses[STALE],
        "failures": sum(count for status, count in whole.statuses.items() if status is not None and status >= 500),
    }


def _start(minute: int) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(minutes=minute)
