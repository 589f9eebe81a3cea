"""How the service's calls grow with the size of a document, the number of users, and the events of a tenant."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from local.bench import event_subject, subject
from local.bench.figures import figures
from local.bench.plan import FIRST_EVENTS, TYPICAL_CHARS, Plan
from local.bench.session import Session, progress

DOCUMENT_CALLS = ("get", "patch", "assemble")
EVENT_CALLS = {"search": "search", "write_event": "put_upload"}
"""The service's calls about events, and what the stock clients do for the same purpose."""


def grow(session: Session, plan: Plan) -> list[dict[str, Any]]:
    """Measure with one client; return one row for each size, number of users and number of events."""
    progress("preparing documents of several sizes")
    groups: dict[tuple[str, int], list[str]] = {}
    for chars in plan.sizes:
        groups["characters a document", chars] = [f"size-{chars}"]
        session.service.ask(
            "seed", users=[f"size-{chars}"], bindings=subject.BINDINGS, chars=chars, changes=plan.changes
        )
    rows = _measure(session, groups, plan)
    users: list[str] = []
    for count in plan.users:
        progress(f"preparing {count} users")
        new = [f"one-of-many-{number}" for number in range(len(users), count)]
        session.service.ask("seed", users=new, bindings=subject.BINDINGS, chars=TYPICAL_CHARS, changes=0)
        users += new
        rows += _measure(session, {("users with 4 documents", count): users}, plan)
    return rows + _grow_events(session, plan)


def _measure(session: Session, groups: dict[tuple[str, int], list[str]], plan: Plan) -> list[dict[str, Any]]:
    samples: dict[tuple[str, int, str], list[float]] = defaultdict(list)
    for number in range(plan.growth_rounds):
        progress(f"measuring growth, round {number + 1} of {plan.growth_rounds}")
        for (unit, value), users in groups.items():
            for call in DOCUMENT_CALLS:
                turn = _turn(users, number * plan.growth_calls)
                samples[unit, value, call] += session.measure(call, turn, 1, plan.growth_calls)[0]
    return [
        {"grows": unit, "value": value, "ms": {call: figures(samples[unit, value, call]) for call in DOCUMENT_CALLS}}
        for unit, value in groups
    ]


def _grow_events(session: Session, plan: Plan) -> list[dict[str, Any]]:
    rows, present = [], FIRST_EVENTS
    for count in plan.events:
        progress(f"filling the index with {count:,} events")
        session.stock.ask("load", first=present, count=count)
        present = max(present, count)
        users, samples = event_subject.users_of(count), defaultdict[str, list[float]](list)
        for number in range(plan.growth_rounds):
            progress(f"measuring growth, round {number + 1} of {plan.growth_rounds}")
            turn = _turn(users, number * plan.growth_calls)
            for call, against in EVENT_CALLS.items():
                samples[call] += session.measure(call, turn, 1, plan.growth_calls)[0]
                samples[f"stock {against}"] += session.stock.ask(
                    "measure", name=against, users=turn, clients=1, count=plan.growth_calls, pause=0
                )
        ms = {call: figures(seconds) for call, seconds in samples.items()}
        rows.append({"grows": "events of a tenant", "value": count, "ms": ms})
    return rows


def _turn(users: Sequence[str], first: int) -> list[str]:
    """Return the users from another one on, so that each round meets others."""
    first %= len(users)
    return [*users[first:], *users[:first]]
