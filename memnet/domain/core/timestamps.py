"""Times as text: RFC 3339 in UTC with six decimals, so that text order is time order."""

import re
from datetime import UTC, datetime, timedelta

from memnet.domain.core.errors import MalformedRequest

_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII | re.IGNORECASE)
"""The grammar of RFC 3339, section 5.6; `fromisoformat` also accepts other forms of ISO 8601."""


def to_text(moment: datetime) -> str:
    """Write a timezone-aware datetime."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def from_text(text: str) -> datetime:
    """Read an RFC 3339 date-time with an offset. Raises MalformedRequest."""
    try:
        if not _DATE_TIME.fullmatch(text):
            raise ValueError(text)
        # Near the ends of the calendar the conversion to UTC can overflow.
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise MalformedRequest("A time must be an RFC 3339 date-time such as 2026-02-14T20:00:00Z.") from error


def later(moment: datetime, duration: str) -> datetime:
    """Return the moment plus a `Duration` of a profile; at most the end of the calendar."""
    number, unit = int(duration.strip("PTDWH")), duration[-1]
    span = timedelta(hours=number) if unit == "H" else timedelta(days=number * (7 if unit == "W" else 1))
    try:
        return moment + span
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)
