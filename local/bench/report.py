"""The measurements as tables."""

import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from rich.console import Console
from rich.table import Table

from local.bench.figures import pair

PACKAGES = ("azure-storage-blob", "azure-search-documents", "azure-core", "aiohttp", "uvloop", "uvicorn", "fastapi")


def environment() -> dict[str, Any]:
    """Return what the figures depend on besides the service."""
    return {
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "packages": {package: version(package) for package in PACKAGES},
    }


def show(summary: Mapping[str, Any], console: Console) -> None:
    """Print what was measured."""
    _show_comparisons(summary["comparisons"], console)
    _show_growth(summary["growth"], console)
    _show_increments(summary["increments"], console)
    _show_history(summary["history"], console)


def _show_comparisons(rows: list[dict[str, Any]], console: Console) -> None:
    table = Table(title="Milliseconds and ratios, p50 / p95, and storage calls of the service per request")
    right = ("clients", "pause", "service", "takes", "ratio")
    for heading in ("call", "clients", "pause", "service", "against", "takes", "ratio", "target", "storage calls"):
        table.add_column(heading, justify="right" if heading in right else "left")
    for row in rows:
        table.add_row(
            row["call"],
            str(row["clients"]),
            f"{row['pause_ms']} ms" if row["pause_ms"] else "none",
            pair(row["service_ms"]),
            row["baseline"],
            pair(row["baseline_ms"]),
            pair(row["ratio"]),
            _target(row["ratio"], row["targets"]),
            _calls(row["storage_calls"]),
        )
    console.print(table)
    for degraded in {row["degraded"] for row in rows if "degraded" in row}:
        console.print(f"Recalls that lacked something when their time was up: {degraded}.")


def _target(ratio: Mapping[str, float], targets: Mapping[str, float | None]) -> str:
    judged = []
    for name, most in targets.items():
        if most is not None:
            reached = ratio[name] <= most
            judged.append(f"{name} ≤ {most:g} [{'green' if reached else 'red'}]{'reached' if reached else 'missed'}[/]")
    return ", ".join(judged)


def _calls(counts: Mapping[str, float]) -> str:
    return " + ".join(f"{count:g} {kind}" for kind, count in counts.items() if count) or "none"


def _show_growth(rows: list[dict[str, Any]], console: Console) -> None:
    tables: dict[tuple[str, ...], Table] = {}
    for row in rows:
        calls = tuple(row["ms"])
        if calls not in tables:
            tables[calls] = Table("with", title="Growth, milliseconds, p50 / p95, one client")
            for call in calls:
                tables[calls].add_column(call, justify="right")
        tables[calls].add_row(f"{row['value']:>7,} {row['grows']}", *(pair(row["ms"][call]) for call in calls))
    for table in tables.values():
        console.print(table)


def _show_increments(found: Mapping[str, Any], console: Console) -> None:
    console.print(
        f"{found['increments']} increments of one document by {found['clients']} clients: {found['lost']} lost, "
        f"{found['seconds']} s, {found['retries']} retries after 412; storage calls per increment: "
        f"{_calls(found['storage_calls'])}."
    )


def _show_history(found: Mapping[str, Any], console: Console) -> None:
    table = Table("GET", "ms, p50 / p95", title=f"A document with {found['changes']:,} changes")
    for name, ms in found["ms"].items():
        table.add_row(name if name.startswith(("bystander", "blame")) else f"as_of {name}", pair(ms))
    for name, ratios in found["blame_to_get"].items():
        table.add_row(f"{name} : GET of the current version", pair(ratios))
    for call, ms in found["growth"].items():
        table.add_row(f"{call} of the current version", pair(ms))
    console.print(table)
    for changes, blobs in found["audit_blobs"].items():
        parts = ", ".join(f"{count} .{ending}" for ending, count in sorted(blobs.items()))
        console.print(f"Audit blobs after {changes:,} changes: {sum(blobs.values()):,} ({parts}).")
    console.print(f"Changes per second, one client: {found['changes_per_second']:g}.")
    verify = found["verify"]
    console.print(f"memnet audit verify: {verify['seconds']} s with its start, {_calls(verify['storage_calls'])}.")
