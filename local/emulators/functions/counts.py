"""How often each function ran, as GET /health reports it."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(slots=True)
class FunctionCount:
    """One function: invocations that ended, those of them that failed, and those that run now."""

    invocations: int = 0
    failures: int = 0
    running: int = 0
    last_error: str | None = None
    """The type of the last failure's exception."""


class Counts:
    """The counts of all functions of the app."""

    def __init__(self, names: Iterable[str]) -> None:
        """All are 0."""
        self._counts = {name: FunctionCount() for name in names}

    def started(self, name: str) -> None:
        """An invocation begins."""
        self._counts[name].running += 1

    def ended(self, name: str, error: str | None) -> None:
        """Count the end of an invocation; `error` is None for a success."""
        count = self._counts[name]
        count.running -= 1
        count.invocations += 1
        if error is not None:
            count.failures += 1
            count.last_error = error

    def __contains__(self, name: object) -> bool:
        return name in self._counts

    def members(self) -> dict[str, Any]:
        """The counts by function, for JSON."""
        return {name: asdict(count) for name, count in self._counts.items()}
