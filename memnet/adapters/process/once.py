"""Work that a process does once."""

import asyncio
from collections.abc import Awaitable, Callable


class Once:
    """Calls `work` until it succeeds for the first time, one call at a time."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._work = work
        self._lock = asyncio.Lock()
        self._is_done = False

    async def __call__(self) -> None:
        """Return once the work is done; a failure goes to the caller. Raises what `work` raises."""
        if self._is_done:
            return
        async with self._lock:
            if not self._is_done:
                await self._work()
                self._is_done = True
