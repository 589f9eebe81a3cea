"""Share one running check among all concurrent callers, so that checks neither pile up nor compete."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from memnet.ports import Clock

T = TypeVar("T")

MAX_AGE = timedelta(seconds=2)
"""How long a result is reused: less than the interval of a load balancer's probes."""


class SingleFlight(Generic[T]):
    """Returns the latest result if it is fresh, else that of the next run. Belongs to one event loop."""

    def __init__(self, run: Callable[[], Awaitable[T]], clock: Clock) -> None:
        """An exception of `run` is raised to all waiting callers and is not cached."""
        self._run = run
        self._clock = clock
        self._running: asyncio.Task[T] | None = None
        self._cached: tuple[datetime, T] | None = None

    async def get(self) -> T:
        """Return the result. A caller that is cancelled does not cancel the run for others."""
        if self._cached is not None:
            cached_at, result = self._cached
            # A clock that is set back must not extend the age.
            if timedelta(0) <= self._clock.now() - cached_at < MAX_AGE:
                return result
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._refresh())
        return await asyncio.shield(self._running)

    async def _refresh(self) -> T:
        result = await self._run()
        self._cached = (self._clock.now(), result)
        return result
