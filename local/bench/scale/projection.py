"""From measured calls to a month of many users: calls, processor time and money."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from local.bench.scale.calls import REQUESTS
from local.bench.scale.prices import STORAGE, function_cost, queue_cost, storage_cost
from local.bench.scale.world import Measured
from memnet.domain.upkeep.marks import Work

DAYS = 30.4
SECONDS = DAYS * 24 * 3600
REDUNDANCY = "ZRS"
PEAK = 4
"""The busiest hour has so many times the calls of an average one."""


@dataclass(frozen=True)
class Usage:
    """A month of one user: an assumption, which a reader may replace."""

    requests: Mapping[str, float]
    active_hours: float
    """Hours with at least one write: each costs a changed mark and one look by the timer."""
    due_days: float
    """Days on which retention and freshness look at the user: after a day with writes, and when something expires."""
    gigabytes: float


USAGE = Usage(
    requests={
        "create a document": 0.1,
        "change a document": 20,
        "read a document": 60,
        "assemble 4 documents": 30,
        "write an event": 15,
    },
    active_hours=10,
    due_days=7,
    gigabytes=0.0005,
)


@dataclass(frozen=True)
class Timer:
    """A timer's calls: of one run with nothing to do, and for each user with something to do."""

    runs: float
    """In a month."""
    idle: Measured
    busy: Measured

    def per_user(self) -> Mapping[str, float]:
        """Return the storage calls by kind for one user with something to do."""
        kinds = self.idle.calls.keys() | self.busy.calls.keys()
        extra = {kind: self.busy.calls[kind] - self.idle.calls[kind] for kind in kinds}
        return {kind: max(0.0, more / self.busy.users) for kind, more in extra.items()}

    def seconds_per_user(self) -> float:
        """Return the wall time for one user, on the measured machine."""
        return max(0.0, self.busy.seconds - self.idle.seconds) / self.busy.users

    def month(self, looks: float, shards: int) -> tuple[Mapping[str, float], float]:
        """Return the calls of a month with so many looks at users, and the price of its functions and messages."""
        each = self.per_user()
        kinds = self.idle.calls.keys() | each.keys()
        calls = {kind: self.idle.calls[kind] * self.runs + each.get(kind, 0.0) * looks for kind in kinds}
        messages = min(shards * self.runs, looks)
        seconds = self.idle.seconds * self.runs + self.seconds_per_user() * looks
        return calls, function_cost(seconds, self.runs + messages) + queue_cost(messages)


def project(users: int, timers: Mapping[Work, Timer], shards: int, usage: Usage = USAGE) -> dict[str, Any]:
    """Return a month of `users` users: calls, calls per second and US dollars, by part."""
    parts: dict[str, tuple[Mapping[str, float], float]] = {}
    for request, often in usage.requests.items():
        parts[request] = {kind: each * often * users for kind, each in REQUESTS[request].items()}, 0.0
    parts["changed marks"] = {"PUT": usage.active_hours * users}, 0.0
    parts["timer: changed users"] = timers[Work.CHANGED].month(usage.active_hours * users, shards)
    parts["timer: due users"] = timers[Work.DUE].month(usage.due_days * users, shards)
    stored = usage.gigabytes * users * STORAGE[REDUNDANCY].gb_month
    rows = {
        name: {"calls": sum(calls.values()), "dollars": storage_cost(calls, REDUNDANCY) + other}
        for name, (calls, other) in parts.items()
    }
    rows["stored data"] = {"calls": 0.0, "dollars": stored}
    calls = sum(row["calls"] for row in rows.values())
    return {
        "users": users,
        "parts": rows,
        "calls_per_second": calls / SECONDS,
        "calls_per_second_at_peak": PEAK * calls / SECONDS,
        "dollars": sum(row["dollars"] for row in rows.values()),
    }


def price_of_requests() -> dict[str, dict[str, float]]:
    """Return, for each request, its storage calls and the price of 10,000 of them by redundancy."""
    return {
        name: {
            "calls": float(sum(calls.values())),
            **{kind: 10_000 * storage_cost(calls, kind) for kind in STORAGE},
        }
        for name, calls in REQUESTS.items()
    }
