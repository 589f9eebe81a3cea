"""Numbers from measured seconds."""

from collections.abc import Sequence
from typing import Any


def percentile(seconds: Sequence[float], share: float) -> float:
    """Return the value that `share` of `seconds` do not exceed."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def figures(seconds: Sequence[float]) -> dict[str, Any]:
    """Return p50 and p95 in milliseconds, and the number of calls."""
    return {
        "p50": round(percentile(seconds, 0.5) * 1000, 3),
        "p95": round(percentile(seconds, 0.95) * 1000, 3),
        "calls": len(seconds),
    }


def ratio(service: dict[str, Any], baseline: dict[str, Any]) -> dict[str, float]:
    """Return p50 and p95 of the service as multiples of the baseline's."""
    return {name: round(service[name] / baseline[name], 2) for name in ("p50", "p95")}


def pair(found: dict[str, Any]) -> str:
    """Return p50 and p95 for a table."""
    return f"{found['p50']:.2f} / {found['p95']:.2f}"
