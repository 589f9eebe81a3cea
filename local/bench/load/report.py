"""The findings as numbers, for a reader and for a machine."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from local.bench.figures import percentile
from local.bench.load.driver import Tally
from local.bench.load.findings import OBJECTIVE, Budget, Step, growth, knee, limit
from local.bench.load.gauges import MIB, OTHERS
from local.bench.load.mix import WEIGHTS

TARGETS_MS = {"read": 150, "patch": 300}
"""The specification's p95."""
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def summarise(steps: Sequence[Step], clients: int, soak: Tally, memory: Sequence[int]) -> dict[str, Any]:
    """Everything, ready for JSON: the way to the knee, and what so many clients met in the soak."""
    found = knee(steps)
    budget = Budget(soak.answered + soak.shed + soak.failed, soak.failed + soak.shed)
    return {
        "cpus": os.cpu_count(),
        "steps": [asdict(step) for step in steps],
        "knee": {"clients": found.clients, "throughput": found.throughput, "p95_ms": found.p95 * 1000},
        "limit": limit(found.cores, os.cpu_count() or 1, OTHERS),
        "soak": {
            "clients": clients,
            "seconds": soak.lasted,
            "throughput": soak.throughput,
            "calls": {call: _figures(soak.seconds[call]) for call in WEIGHTS if soak.seconds[call]},
            "conflicts": soak.conflicts,
            "shed": soak.shed,
            "failed": soak.failed,
            "failures": dict(soak.failures),
            "budget": {"objective": OBJECTIVE, "allowed": budget.allowed, "used": budget.used},
            "memory_mib": {
                "first": memory[0] / MIB,
                "last": memory[-1] / MIB,
                "most": max(memory) / MIB,
                "growth": growth(memory) / MIB,
            },
        },
    }


def _figures(seconds: Sequence[float]) -> dict[str, Any]:
    found = {name: round(percentile(seconds, share) * 1000, 3) for name, share in SHARES.items()}
    return {"calls": len(seconds), **found}


def show(summary: dict[str, Any], console: Console) -> None:
    """Print two tables and what follows from them."""
    parts = sorted({name for step in summary["steps"] for name in step["cores"]})
    steps = Table(title="Steps: calls a second, p95 in milliseconds, and cores kept busy by each process")
    for heading in ("clients", "calls/s", "p95", *parts):
        steps.add_column(heading, justify="right")
    for step in summary["steps"]:
        cores = [f"{step['cores'].get(part, 0):.2f}" for part in parts]
        mark = " ←" if step["clients"] == summary["knee"]["clients"] else ""
        steps.add_row(f"{step['clients']}{mark}", f"{step['throughput']:.0f}", f"{step['p95'] * 1000:.1f}", *cores)
    console.print(steps)
    found = summary["knee"]
    console.print(f"The knee is at {found['clients']} clients: {found['throughput']:.0f} calls/s.")
    console.print(f"The limit is {summary['limit']}.")
    _show_soak(summary["soak"], console)


def _show_soak(soak: dict[str, Any], console: Console) -> None:
    calls = Table(title=f"Soak: {soak['clients']} clients for {soak['seconds']:.0f} s, milliseconds")
    for heading in ("call", "calls", *SHARES, "target p95"):
        calls.add_column(heading, justify="left" if heading == "call" else "right")
    for call, figures in soak["calls"].items():
        target = TARGETS_MS.get(call)
        told = "" if target is None else f"< {target} {'reached' if figures['p95'] < target else 'missed'}"
        calls.add_row(call, f"{figures['calls']:,}", *(f"{figures[name]:.1f}" for name in SHARES), told)
    console.print(calls)
    budget, memory = soak["budget"], soak["memory_mib"]
    console.print(
        f"{soak['throughput']:.0f} calls/s; {soak['failed']} failed, {soak['shed']} sent away, "
        f"{soak['conflicts']} writes repeated after 412."
    )
    console.print(f"Error budget of {budget['objective']:.1%}: {budget['used']:.0%} used.")
    console.print(
        f"The API's memory: {memory['first']:.0f} MiB at the start, {memory['most']:.0f} at most, "
        f"{memory['growth']:+.1f} MiB from the middle third to the last."
    )
    for failure, count in soak["failures"].items():
        console.print(f"{count} times {failure}", style="red", markup=False)
