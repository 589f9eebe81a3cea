"""The measurements as numbers, for a reader and for a machine."""

import os
import platform
from importlib.metadata import version
from typing import Any

from rich.console import Console
from rich.table import Table

from local.bench.plan import CLIENTS, COMPARISONS, EVENT_CALLS, TARGETS, Samples, percentile

GROWTH_UNITS = {"size": "characters a document", "history": "changes a document", "users": "users with 4 documents"}
EVENT_UNIT = "events of one tenant"
CALLS = ("get", "patch", "assemble")
CALLS_ON_EVENTS = tuple(name for call, against in EVENT_CALLS.items() for name in (call, f"stock {against}"))


def summarise(samples: Samples) -> dict[str, Any]:
    """Milliseconds and ratios, ready for JSON."""
    return {"environment": _environment(), "comparisons": _comparisons(samples), "growth": _growth(samples)}


def _environment() -> dict[str, Any]:
    packages = ("azure-storage-blob", "azure-search-documents", "azure-core", "aiohttp", "uvloop", "uvicorn", "fastapi")
    return {
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "packages": {package: version(package) for package in packages},
    }


def _comparisons(samples: Samples) -> list[dict[str, Any]]:
    rows = []
    for baseline in dict.fromkeys(baseline for baseline, _, _ in samples.storage):
        for comparison in COMPARISONS:
            for clients in CLIENTS:
                service = _figures(samples.service[comparison.name, clients])
                storage = _figures(samples.storage[baseline, comparison.against, clients])
                rows.append(
                    {
                        "call": comparison.name,
                        "clients": clients,
                        "baseline": f"{baseline}: {comparison.meaning}",
                        "service_ms": service,
                        "baseline_ms": storage,
                        "ratio": {name: round(service[name] / storage[name], 2) for name in ("p50", "p95")},
                        "target": TARGETS.get(comparison.name) if baseline == "stock client" else None,
                    }
                )
    return rows


def _growth(samples: Samples) -> list[dict[str, Any]]:
    places = dict.fromkeys((kind, value) for kind, value, _ in samples.growth)
    return [
        {
            "grows": kind,
            "value": value,
            "service_ms": {call: _figures(samples.growth[kind, value, call]) for call in _calls(kind)},
        }
        for kind, value in places
    ]


def _calls(kind: str) -> tuple[str, ...]:
    """What is measured while this grows."""
    return CALLS_ON_EVENTS if kind == "events" else CALLS


def _figures(seconds: list[float]) -> dict[str, Any]:
    return {
        "p50": round(percentile(seconds, 0.5) * 1000, 3),
        "p95": round(percentile(seconds, 0.95) * 1000, 3),
        "calls": len(seconds),
    }


def show(summary: dict[str, Any], console: Console) -> None:
    """Print three tables: ratios, growth, and growth with events."""
    ratios = Table(title="Milliseconds, p50 / p95, and service ÷ stock client")
    for heading in ("call", "clients", "service", "against", "takes", "ratio p50", "ratio p95", "target"):
        ratios.add_column(heading, justify="left" if heading in ("call", "against") else "right")
    for row in summary["comparisons"]:
        target = row["target"]
        reached = target is None or row["ratio"]["p50"] <= target
        ratios.add_row(
            row["call"],
            str(row["clients"]),
            _pair(row["service_ms"]),
            row["baseline"],
            _pair(row["baseline_ms"]),
            f"[{'green' if reached else 'red'}]{row['ratio']['p50']:.2f}[/]",
            f"{row['ratio']['p95']:.2f}",
            "" if target is None else f"≤ {target} {'reached' if reached else 'missed'}",
        )
    console.print(ratios)
    growth = Table(title="How the service's calls grow, milliseconds, p50 / p95, one client")
    for heading in ("with", *CALLS):
        growth.add_column(heading, justify="left" if heading == "with" else "right")
    events = Table(
        title="How search and event write grow compared to the stock clients', milliseconds, p50 / p95, one client"
    )
    for heading in ("with", *CALLS_ON_EVENTS):
        events.add_column(heading, justify="left" if heading == "with" else "right")
    for row in summary["growth"]:
        kind = row["grows"]
        times = [_pair(row["service_ms"][call]) for call in _calls(kind)]
        table, unit = (events, EVENT_UNIT) if kind == "events" else (growth, GROWTH_UNITS[kind])
        table.add_row(f"{row['value']:>7,} {unit}", *times)
    console.print(growth)
    console.print(events)


def _pair(figures: dict[str, Any]) -> str:
    return f"{figures['p50']:.2f} / {figures['p95']:.2f}"
