"""uvicorn's server, with a time between the signal that ends it and the end.

uvicorn closes its listener and every idle connection as soon as it is signalled. A load balancer learns of that by
requests that fail: a new connection is refused, and what it sends over a kept one meets the close half-way. So the
server goes on first: /health/ready says 503, which takes the process out of the balancer's choice, and each answer
closes its connection, which empties the balancer's pool. Then nobody is left to be refused.
"""

import asyncio
import signal
import socket
from types import FrameType

import uvicorn

from api.concurrency_limit import ConcurrencyLimit

TICK_SECONDS = 0.1


class DrainingServer(uvicorn.Server):
    """Serves on for `drain_seconds` after SIGTERM. SIGINT, which comes from a person, and any second signal end it."""

    def __init__(self, config: uvicorn.Config, concurrency_limit: ConcurrencyLimit, drain_seconds: float) -> None:
        """`in_flight` is that of the application, which it tells that the end is near."""
        super().__init__(config)
        self._limit = concurrency_limit
        self._drain_seconds = drain_seconds

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take the signal."""
        if self._limit.draining or sig != signal.SIGTERM:
            self._drain_seconds = 0.0
        self._limit.draining = True
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve on, then let the requests under way end."""
        self._limit.draining = True
        started = asyncio.get_running_loop().time()
        while asyncio.get_running_loop().time() - started < self._drain_seconds:
            await asyncio.sleep(TICK_SECONDS)
            await self.on_tick(0)  # the date in the answers
        await super().shutdown(sockets)
