"""Points in time as text: RFC 3339 in UTC with six decimals, so that text order is time order."""

from datetime import UTC, datetime

from memnet.domain.errors import MalformedRequest


def to_text(moment: datetime) -> str:
    """Write a timezone-aware datetime."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def from_text(text: str) -> datetime:
    """Read an RFC 3339 date-time with an offset. Raises MalformedRequest."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise MalformedRequest("A time must be an RFC 3339 date-time such as 2026-02-14T20:00:00Z.") from error
    if moment.tzinfo is None or "T" not in text.upper():
        raise MalformedRequest("A time must be an RFC 3339 date-time such as 2026-02-14T20:00:00Z.")
    return moment.astimezone(UTC)
