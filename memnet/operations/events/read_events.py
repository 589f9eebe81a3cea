"""Read stored events by their keys."""

import asyncio
from collections.abc import Sequence

from memnet.domain.events.event import EventKey, StoredEvent, load
from memnet.stores import EventStore

PARALLEL = 16


async def read_events(keys: Sequence[EventKey], *, events: EventStore) -> dict[EventKey, StoredEvent | None]:
    """Return what is stored under these keys; None where that is not an event. Missing ones are left out.

    Raises Unavailable.
    """
    gate = asyncio.Semaphore(PARALLEL)

    async def one(key: EventKey) -> tuple[EventKey, bytes | None]:
        async with gate:
            return key, await events.get(key)

    found = await asyncio.gather(*map(one, keys))
    return {key: _own(key, data) for key, data in found if data is not None}


def _own(key: EventKey, data: bytes) -> StoredEvent | None:
    stored = load(data)
    return stored if stored is not None and stored.key == key else None
