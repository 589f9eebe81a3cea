"""Repeat a call and take its times."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter

Call = Callable[[str], Awaitable[object]]
"""Makes the measured call once, for one user."""
WARM_UP = 3
"""Calls per client that are not measured."""


async def timed(call: Call, users: Sequence[str], count: int, pause: float = 0.0) -> list[float]:
    """Call `count` times, the users in turn, after a warm-up; return the seconds each took.

    `pause` is the time in seconds before each call, which is not part of the result.
    """
    seconds = []
    for number in range(-WARM_UP, count):
        if pause:
            await asyncio.sleep(pause)
        user = users[number % len(users)]
        started = perf_counter()
        await call(user)
        if number >= 0:
            seconds.append(perf_counter() - started)
    return seconds


def shares(users: Sequence[str], clients: int) -> list[Sequence[str]]:
    """Divide the users among the clients: writers of one document would only refuse each other."""
    return [users[client::clients] or users[:1] for client in range(clients)]


async def together(calls: Sequence[Call], users: Sequence[str], count: int, pause: float) -> list[float]:
    """Make `count` calls in all, divided among concurrent clients, of which each has one of `calls`.

    Clients that pause start one after the other, so that their calls do not arrive as bursts.
    """
    clients = len(calls)

    async def client(number: int, call: Call, share: Sequence[str]) -> list[float]:
        await asyncio.sleep(pause * number / clients)
        return await timed(call, share, count // clients, pause)

    each = map(client, range(clients), calls, shares(users, clients))
    return [second for part in await asyncio.gather(*each) for second in part]


def requests(clients: int, count: int) -> int:
    """Return how many calls `together` makes, the warm-up included."""
    return clients * (WARM_UP + count // clients)
