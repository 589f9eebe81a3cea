"""The Background port on asyncio tasks of this process."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from memnet.domain.core.errors import ErasureRunning

_log = logging.getLogger("memnet.background")


class BackgroundTasks:
    """Runs work in tasks, a bounded number at a time."""

    def __init__(self, concurrency: int = 16) -> None:
        """`concurrency` is how many tasks run at once; the others wait in order."""
        self._slots = asyncio.Semaphore(concurrency)
        # The loop holds tasks weakly: without this set one could vanish halfway (asyncio.create_task's documentation).
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._run(name, work), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # A task cancelled before its first step never awaits its work; closing what has ended does nothing.
        task.add_done_callback(lambda _: work.close())

    async def drain(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109 (asyncio.wait does not raise)
        """Wait for all work, including work that it starts; cancel the rest after `timeout` seconds.

        Return whether all of it ended in time. Called at shutdown, and by tests.
        """
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        while self._tasks:
            left = None if deadline is None else max(0.0, deadline - loop.time())
            _, pending = await asyncio.wait(self._tasks, timeout=left)
            if left is not None and pending:
                return await self._cancel()
        return True

    async def _cancel(self) -> bool:
        tasks = list(self._tasks)
        _log.warning("%d background tasks did not end in time and were cancelled", len(tasks))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return False

    async def _run(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        async with self._slots:
            try:
                await work
            except ErasureRunning:
                # The erasure deletes what the work would complete.
                _log.info("background work given up, the user's memory is being erased: %s", name)
            except Exception:
                _log.exception("background work failed: %s", name)
