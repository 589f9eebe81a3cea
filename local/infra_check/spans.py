"""Spans of time as Azure writes them: ISO 8601, with days at most."""

import re
from typing import Final

_SPAN: Final = re.compile(r"P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_IN_SECONDS: Final = (365 * 86400, 30 * 86400, 86400, 3600, 60, 1)


def seconds(span: str) -> float:
    """How long it is, months being 30 days. Raises ValueError."""
    match = _SPAN.fullmatch(span)
    if match is None or span in ("P", "PT") or span.endswith("T"):
        raise ValueError(f"{span!r} is no span of time")
    return sum(float(found or 0) * each for found, each in zip(match.groups(), _IN_SECONDS, strict=True))
