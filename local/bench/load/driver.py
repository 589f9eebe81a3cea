"""Clients that each send the next call as soon as the last one is answered, for a while."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from time import perf_counter

from local.bench.connection import Connection
from local.bench.load.mix import Client, Failed, Shed

SHED_PAUSE_SECONDS = 0.1
"""How long a client that was sent away waits; Retry-After says whole seconds, in which nothing would be measured."""
SHOWN_FAILURES = 5


@dataclass
class Tally:
    """What came of the calls of one phase."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Of each answered call, by its kind."""
    shed: int = 0
    failed: int = 0
    conflicts: int = 0
    lasted: float = 0.0
    failures: Counter[str] = field(default_factory=Counter)
    """The first of them, by what was wrong."""

    @property
    def answered(self) -> int:
        """How many calls were answered as they should be."""
        return sum(map(len, self.seconds.values()))

    @property
    def throughput(self) -> float:
        """Answered calls a second."""
        return self.answered / self.lasted if self.lasted else 0.0

    def all_seconds(self) -> list[float]:
        """Of all kinds of calls together."""
        return [second for kind in self.seconds.values() for second in kind]


class Driver:
    """Puts load on one address."""

    def __init__(self, url: str, token: str, users: Sequence[str]) -> None:
        """`token` must allow reading and writing all the users."""
        self._url = url
        self._token = token
        self._users = list(users)
        self._phases = 0

    async def seed(self, clients: int = 8) -> None:
        """Create everybody's documents. Raises Failed."""

        async def share(number: int) -> None:
            client = await self._client(f"seed-{number}")
            for user in self._users[number::clients]:
                await client.seed(user)
            client.connection.close()

        await asyncio.gather(*map(share, range(clients)))

    async def run(self, clients: int, seconds: float, meanwhile: Callable[[], None] | None = None) -> Tally:
        """Keep so many clients busy for so long; `meanwhile` is called every second."""
        self._phases += 1
        tally, started = Tally(), perf_counter()
        ticking = None if meanwhile is None else asyncio.create_task(_every_second(meanwhile))
        names = [f"p{self._phases}-c{number}" for number in range(clients)]
        await asyncio.gather(*(self._keep_busy(name, started + seconds, tally) for name in names))
        tally.lasted = perf_counter() - started
        if ticking is not None:
            ticking.cancel()
            await asyncio.gather(ticking, return_exceptions=True)
        return tally

    async def _keep_busy(self, name: str, until: float, tally: Tally) -> None:
        client = await self._client(name)
        is_time_left = True
        while is_time_left:
            call, started = client.choose(), perf_counter()
            try:
                await client.run(call)
                tally.seconds[call].append(perf_counter() - started)
            except Shed:
                tally.shed += 1
                await asyncio.sleep(SHED_PAUSE_SECONDS)
            except (Failed, OSError) as error:
                _note(tally, call, error)
                client.connection.close()
                client.connection = await Connection.connect(self._url, self._token)
            is_time_left = perf_counter() < until
        tally.conflicts += client.conflicts
        client.connection.close()

    async def _client(self, name: str) -> Client:
        connection = await Connection.connect(self._url, self._token)
        return Client(name, connection, self._users, Random(name))


def _note(tally: Tally, call: str, error: Exception) -> None:
    tally.failed += 1
    if len(tally.failures) < SHOWN_FAILURES:
        tally.failures[f"{call}: {error}"] += 1


async def _every_second(call: Callable[[], None]) -> None:
    while True:
        call()
        await asyncio.sleep(1)
