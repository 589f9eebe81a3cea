"""A clock that moves only when a test advances it."""

from datetime import UTC, datetime, timedelta


class FrozenClock:
    """The Clock port for tests."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        """`start` must be in UTC and timezone-aware."""
        self._now = start

    def now(self) -> datetime:
        return self._now

    def advance(self, step: timedelta) -> None:
        """Move the time by `step`."""
        self._now += step
