"""Clients that write to a document while others do."""

import asyncio
from random import Random
from typing import Any

from tests.e2e.client import Place, User, add, project

SEED = 20260301
LONGEST_PAUSE = 0.2
"""Seconds between the writes of one writer."""
ALPHA = project("alpha")
NOTES = "/content/recent_notes/-"


async def append(user: User, place: Place, op: Any, key: str) -> None:
    """Read and write until the write wins the race."""
    losses = 0
    while True:
        etag = (await user.get(place)).etag
        answer = await user.patch(place, op, etag=etag, key=f"{key}-{losses}")
        if answer.status == 200:
            return
        assert (answer.status, answer.code) == (412, "ETAG_MISMATCH"), answer.text
        losses += 1


async def keep_writing(user: User, writer: int, until: asyncio.Event) -> int:
    """Change the project again and again without letting it grow; return the number that was written last."""
    pauses, number = Random(SEED + writer), 0
    while not until.is_set():
        number += 1
        await append(user, ALPHA, add(f"/content/facets/writer {writer}", number), f"busy-{writer}-{number}")
        await asyncio.sleep(pauses.uniform(0, LONGEST_PAUSE))
    return number
