"""Turns of the event loop: proof that other tasks run during a computation."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turns:
    """Counts the turns in which another task could run."""

    def __init__(self) -> None:
        self.count = 0

    async def take(self) -> None:
        """Take every turn, until cancelled."""
        while True:
            self.count += 1
            await asyncio.sleep(0)


@asynccontextmanager
async def counted_turns() -> AsyncIterator[Turns]:
    """Count the turns that another task gets until the context ends."""
    turns = Turns()
    task = asyncio.create_task(turns.take())
    try:
        yield turns
    finally:
        task.cancel()
