"""The measurements and the projection as tables."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from local.bench.scale.prices import READ_DATE


def show(summary: Mapping[str, Any], console: Console) -> None:
    """Print what was measured and what follows from it."""
    console.print(
        f"{summary['users']:,} users with {summary['documents']:,} documents, seeded in {summary['seconds']:.0f} s, "
        f"{summary['processor_seconds']:.0f} s of processor time."
    )
    _show_measured(summary["measured"], console)
    _show_resumed(summary["resumed"], console)
    _show_requests(summary["requests"], console)
    for projected in summary["projections"]:
        _show_projection(projected, console)


def _show_measured(rows: list[dict[str, Any]], console: Console) -> None:
    table = Table(title="Work of the timers over all shards")
    for heading in ("work", "users", "seconds", "processor s", "LIST", "GET", "PUT", "DELETE"):
        table.add_column(heading, justify="left" if heading == "work" else "right")
    for row in rows:
        calls = row["calls"]
        writes = calls.get("PUT", 0) + calls.get("APPEND", 0)
        counts = (calls.get("LIST", 0), calls.get("GET", 0), writes, calls.get("DELETE", 0))
        times = (f"{row['seconds']:.2f}", f"{row['processor_seconds']:.2f}")
        table.add_row(row["work"], f"{row['users']:,}", *times, *(f"{count:,}" for count in counts))
    console.print(table)


def _show_resumed(resumed: Mapping[str, int], console: Console) -> None:
    console.print(
        f"A run over {resumed['users']:,} users, killed after {resumed['calls_before']:,} storage calls, resumed: "
        f"{resumed['calls_after']:,} more calls, {resumed['left']:,} users left."
    )


def _show_requests(rows: Mapping[str, Mapping[str, float]], console: Console) -> None:
    table = Table("request", title=f"US dollars per 10,000 requests, storage calls only; list prices of {READ_DATE}")
    for heading in ("storage calls", "LRS", "ZRS"):
        table.add_column(heading, justify="right")
    for name, row in rows.items():
        table.add_row(name, f"{row['calls']:g}", f"{row['LRS']:.4f}", f"{row['ZRS']:.4f}")
    console.print(table)


def _show_projection(projected: Mapping[str, Any], console: Console) -> None:
    table = Table("part", title=f"A month of {projected['users']:,} users, ZRS")
    for heading in ("storage calls", "US dollars"):
        table.add_column(heading, justify="right")
    for name, row in projected["parts"].items():
        table.add_row(name, f"{row['calls']:,.0f}", f"{row['dollars']:,.2f}")
    console.print(table)
    console.print(
        f"Together {projected['dollars']:,.2f} US dollars a month, {projected['dollars'] / projected['users']:.5f} a "
        f"user; {projected['calls_per_second']:,.0f} storage calls a second on average, "
        f"{projected['calls_per_second_at_peak']:,.0f} in the busiest hour."
    )
