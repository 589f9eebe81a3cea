"""What is measured, in which order: every round measures everything once, so that drift meets all alike."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from local.bench import event_subject, subject
from local.bench.worker import Worker

CLIENTS = (1, 16)
TYPICAL_CHARS = 18_000
WRITE_EVENT = "write_event"
EVENT_CALLS = {"search": "search", WRITE_EVENT: "put_upload"}
"""The service's calls about events, and what the stock clients do for the same purpose."""
TARGETS = {"GET": 0.8, "PATCH": 1.0, "search": 1.5}


@dataclass(frozen=True)
class Scale:
    """How much is done."""

    rounds: int
    calls: dict[int, int]
    """How many calls a round measures, by the number of clients."""
    write_rounds: int
    """Of writing events, after the others: each takes a mark away, and Azurite deletes the slower the more it holds."""
    growth_rounds: int
    growth_calls: int
    changes: int = 80
    """Of a typical document: more than it remembers receipts for, so that it has reached its lasting size."""
    sizes: Sequence[int] = (2_000, 18_000, 60_000)
    histories: Sequence[int] = (10, 100, 1000)
    users: Sequence[int] = (1, 100, 1000)
    events: Sequence[int] = (1_000, 10_000, 100_000)
    """Of one tenant."""


FULL = Scale(rounds=25, calls={1: 40, 16: 320}, write_rounds=5, growth_rounds=10, growth_calls=30)
QUICK = Scale(
    rounds=8,
    calls={1: 30, 16: 160},
    write_rounds=2,
    growth_rounds=3,
    growth_calls=20,
    histories=(10, 100),
    users=(1, 20),
    events=(1_000, 5_000),
)


@dataclass(frozen=True)
class Comparison:
    """A call of the service against what the plain client does for the same purpose."""

    name: str
    call: str
    against: str
    meaning: str


COMPARISONS = (
    Comparison("GET", "get", "get", "GET"),
    Comparison("PATCH", "patch", "get_put", "GET + conditional PUT"),
    Comparison("assemble 4", "assemble", "get", "GET"),
    Comparison("search", "search", "search", "search"),
    Comparison("write event", WRITE_EVENT, "put_upload", "PUT + index upload"),
)
FIRST_EVENTS = 1_000
"""In the index while the comparisons are made."""
STOCK, STOCK_UVLOOP = "stock client", "stock client on uvloop"


def percentile(seconds: Sequence[float], share: float) -> float:
    """The value that `share` of `seconds` do not exceed."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


@dataclass
class Samples:
    """Seconds of single calls, by what was measured."""

    service: dict[tuple[str, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    """By comparison and number of clients."""
    storage: dict[tuple[str, str, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    """By baseline, call and number of clients."""
    growth: dict[tuple[str, int, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    """By what grows, its value and the service's call."""


def compare(
    service: Worker, baselines: dict[str, Worker], scale: Scale, samples: Samples, tell: Callable[[str], None]
) -> None:
    """Measure every comparison at every number of clients, the sides in turn."""
    users = [f"typical-{number}" for number in range(max(CLIENTS))]
    speakers = [event_subject.user_of(number * event_subject.EVENTS_A_USER) for number in range(max(CLIENTS))]
    tell(f"preparing {len(users)} users with 4 documents of {TYPICAL_CHARS // 1000} KB")
    service.ask("seed", users=users, bindings=subject.BINDINGS, chars=TYPICAL_CHARS, changes=scale.changes)
    service.ask("write_first_event", user=speakers[0])
    baselines[STOCK].ask("load", first=0, count=FIRST_EVENTS)
    reading = [comparison for comparison in COMPARISONS if comparison.call != WRITE_EVENT]
    writing = [comparison for comparison in COMPARISONS if comparison.call == WRITE_EVENT]
    for rounds, comparisons in ((scale.rounds, reading), (scale.write_rounds, writing)):
        for number in range(rounds):
            tell(
                f"comparing {', '.join(comparison.name for comparison in comparisons)}: round {number + 1} of {rounds}"
            )
            for clients in CLIENTS:
                load = {"clients": clients, "count": scale.calls[clients]}
                groups = users[:clients], speakers[:clients]
                _compare_once(service, baselines, comparisons, groups, load, samples)


def _compare_once(
    service: Worker,
    baselines: dict[str, Worker],
    comparisons: Sequence[Comparison],
    groups: tuple[Sequence[str], Sequence[str]],
    load: dict[str, int],
    samples: Samples,
) -> None:
    """Measure each comparison on every side; `groups` are the users with documents, and those with events."""
    clients = load["clients"]
    for comparison in comparisons:
        users = groups[comparison.call in EVENT_CALLS]
        samples.service[comparison.name, clients] += service.ask("measure", name=comparison.call, users=users, **load)
        if comparison.call == WRITE_EVENT:
            baselines[STOCK].ask("settle")
    for baseline, worker in baselines.items():
        for call in dict.fromkeys(comparison.against for comparison in comparisons):
            users = groups[call in EVENT_CALLS.values()]
            samples.storage[baseline, call, clients] += worker.ask("measure", name=call, users=users, **load)


def grow(service: Worker, scale: Scale, samples: Samples, tell: Callable[[str], None]) -> None:
    """Measure how the service's calls grow with the document's size, its history and the number of users."""
    groups: dict[tuple[str, int], list[str]] = {}
    tell("preparing documents of several sizes and histories")
    for chars in scale.sizes:
        groups["size", chars] = [f"size-{chars}"]
        service.ask("seed", users=[f"size-{chars}"], bindings=subject.BINDINGS, chars=chars, changes=scale.changes)
    for changes in scale.histories:
        # Measuring PATCH makes history, too: over enough documents that it does not matter.
        users = [f"history-{changes}-{number}" for number in range(max(1, 100 // changes))]
        groups["history", changes] = users
        service.ask("seed", users=users, bindings=subject.BINDINGS, chars=TYPICAL_CHARS, changes=changes)
    _measure(service, groups, scale, samples, tell)
    present = 0
    for count in scale.users:
        tell(f"preparing {count} users")
        users = [f"one-of-many-{number}" for number in range(present, count)]
        service.ask("seed", users=users, bindings=subject.BINDINGS, chars=TYPICAL_CHARS, changes=0)
        present = count
        _measure(service, {("users", count): [f"one-of-many-{n}" for n in range(count)]}, scale, samples, tell)


def grow_events(service: Worker, stock: Worker, scale: Scale, samples: Samples, tell: Callable[[str], None]) -> None:
    """Measure how search and event write grow with the events of one tenant; the index has some by `compare`."""
    present = FIRST_EVENTS
    for count in scale.events:
        tell(f"filling the index with {count:,} events")
        stock.ask("load", first=present, count=count)
        present = max(present, count)
        users = event_subject.users_of(count)
        for number in range(scale.growth_rounds):
            tell(f"measuring growth, round {number + 1} of {scale.growth_rounds}")
            turn = number * scale.growth_calls % len(users)
            load = {"users": users[turn:] + users[:turn], "clients": 1, "count": scale.growth_calls}
            for call, against in EVENT_CALLS.items():
                samples.growth["events", count, call] += service.ask("measure", name=call, **load)
                if call == WRITE_EVENT:
                    stock.ask("settle")
                samples.growth["events", count, f"stock {against}"] += stock.ask("measure", name=against, **load)


def _measure(
    service: Worker,
    groups: dict[tuple[str, int], list[str]],
    scale: Scale,
    samples: Samples,
    tell: Callable[[str], None],
) -> None:
    for number in range(scale.growth_rounds):
        tell(f"measuring growth, round {number + 1} of {scale.growth_rounds}")
        for (kind, value), users in groups.items():
            turn = number * scale.growth_calls % len(users)
            load = {"users": users[turn:] + users[:turn], "clients": 1, "count": scale.growth_calls}
            for call in ("get", "patch", "assemble"):
                samples.growth[kind, value, call] += service.ask("measure", name=call, **load)
