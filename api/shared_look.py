"""One look at something, shared by all who ask: however many they are, looks neither pile up nor crowd each other."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from memnet.ports import Clock

T = TypeVar("T")

KEPT_FOR = timedelta(seconds=2)
"""So long an answer is given again; less than the time after which a load balancer asks again."""


class SharedLook(Generic[T]):
    """Who asks gets the newest answer, if it is new enough, or the next one. Belongs to one event loop."""

    def __init__(self, look: Callable[[], Awaitable[T]], clock: Clock) -> None:
        """`look` finds the answer; what it raises, those who wait for it get, and it is not kept."""
        self._look = look
        self._clock = clock
        self._under_way: asyncio.Task[T] | None = None
        self._kept: tuple[datetime, T] | None = None

    async def ask(self) -> T:
        """Return the answer. Who leaves before it is there takes it from nobody else."""
        if self._kept is not None:
            taken_at, answer = self._kept
            # A clock that was set back must not keep an answer for longer.
            if timedelta(0) <= self._clock.now() - taken_at < KEPT_FOR:
                return answer
        if self._under_way is None or self._under_way.done():
            self._under_way = asyncio.create_task(self._take())
        return await asyncio.shield(self._under_way)

    async def _take(self) -> T:
        answer = await self._look()
        self._kept = (self._clock.now(), answer)
        return answer
