"""Duplicate detection: a message id that was seen within the window is not taken a second time."""

from collections.abc import Iterable


class SeenIds:
    """The message ids of the window, oldest first."""

    def __init__(self, window: float) -> None:
        """`window` is in seconds."""
        self._window = window
        self._seen: dict[str, float] = {}

    def restore(self, seen: Iterable[tuple[str, float]]) -> None:
        """Take over ids with their times, oldest first."""
        self._seen.update(seen)

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._seen

    def add(self, message_id: str, now: float) -> None:
        """Remember an id that is new."""
        self._seen[message_id] = now

    def forget_old(self, now: float) -> float | None:
        """Forget what the window has left behind; return the newest time that was forgotten, None for nothing."""
        newest = None
        while self._seen:
            message_id, at = next(iter(self._seen.items()))
            if now - at < self._window:
                break
            newest = at
            del self._seen[message_id]
        return newest
