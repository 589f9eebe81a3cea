"""What this process has in hand, how much of it is enough, and whether the process is on its way out.

A dependency that slows makes every request stay longer. Without a bound they pile up until the memory ends, and each
of them waits for all; with one, those that are taken go on as fast as the dependency lets them, and the others are
told at once to come again.
"""

from contextlib import AbstractContextManager, nullcontext
from types import TracebackType

from memnet.domain.errors import Overloaded

UNCOUNTED = "/health/"
"""Whoever asks whether the process lives has to be answered under load, too."""

_UNLIMITED = nullcontext()


class InFlight:
    """The requests of this process that are not answered yet. Belongs to one event loop."""

    def __init__(self, most: int) -> None:
        """Take `most` at a time; 0: any number."""
        self._most = most
        self.count = 0
        """How many are counted now; none of them if any number is taken."""
        self.draining = False
        """Set it when the process is to end: it still serves, and asks each client to go elsewhere next time."""

    @property
    def farewell(self) -> list[tuple[bytes, bytes]]:
        """What an answer's headers say besides: nothing, or that its connection ends (RFC 9112, section 9.6)."""
        return [(b"connection", b"close")] if self.draining else []

    def place(self, path: str) -> AbstractContextManager[None]:
        """Return the place that a request to `path` takes while the context is open. Entering raises Overloaded."""
        return _UNLIMITED if not self._most or path.startswith(UNCOUNTED) else self

    def __enter__(self) -> None:
        if self.count >= self._most:
            raise Overloaded
        self.count += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.count -= 1
