"""Clients that write for a user without a pause, and remember what was answered."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from aiohttp import ClientError

from tests.domain.event_samples import event_body
from tests.e2e.client import PACE_SECONDS, Answer, Place, User, add, check_failure, project
from tests.e2e.erasing import conversation
from tests.e2e.killing import Progress

SHORTEST_PAUSE, LONGEST_PAUSE = 0.05, 0.3
"""Seconds between the writes of one writer."""
CHANGES_EACH = 4
"""Of one document, before the next one is created."""


@dataclass(frozen=True)
class Begun:
    """One write: what it was, when it began, and what came of it; None: no answer."""

    what: str
    at: float
    answer: Answer | None


@dataclass
class Written:
    """What the writers of one user have seen."""

    word: str
    """The word in everything that they write."""
    writes: list[Begun] = field(default_factory=list)
    stored: Counter[str] = field(default_factory=Counter)
    """What was answered with success, by kind."""

    def since(self, at: float) -> list[Begun]:
        """The writes that began later."""
        return [write for write in self.writes if write.at > at]


class Writer:
    """One client of one user: documents that are created and changed, events, snapshots."""

    def __init__(self, user: User, apis: Sequence[str], written: Written, progress: Progress, random: Random) -> None:
        self._user, self._apis, self._written, self._progress, self._random = user, apis, written, progress, random
        self._number = random.randrange(10**9)
        self._etag: str | None = None
        self._place: Place = project("none")
        self._changes = 0

    async def run(self, until: asyncio.Event) -> None:
        """Write until it is enough."""
        kinds: Sequence[Callable[[], Awaitable[None]]] = [self._document] * 6 + [self._event] * 3 + [self._snapshot]
        while not until.is_set():
            self._number += 1
            await self._random.choice(kinds)()
            await asyncio.sleep(self._random.uniform(SHORTEST_PAUSE, LONGEST_PAUSE))

    async def _document(self) -> None:
        if self._etag is None or self._changes == CHANGES_EACH:
            self._place, self._etag, self._changes = project(f"w{self._number}"), None, 0
        op = add(f"/content/facets/f{self._changes}", f"{self._written.word} {self._number}")
        etag, key = self._etag, f"key-{self._number}"
        what = "created" if etag is None else "changed"
        answer = await self._send(what, lambda user: user.patch(self._place, op, etag=etag, key=key))
        # What was not answered may have been applied: an honest client reads again; this one begins another document.
        done = answer is not None and answer.status in (200, 201)
        self._etag = answer.etag if answer is not None and done else None
        self._changes += 1

    async def _event(self) -> None:
        body = event_body(f"evt-{self._number}", digest=f"{self._written.word} happened, number {self._number}.")
        await self._send("event", lambda user: user.send("POST", "/events", json=body))

    async def _snapshot(self) -> None:
        url, body = conversation(self._number, f"Remember that {self._written.word} is at {self._number}.")
        await self._send("snapshot", lambda user: user.send("POST", url, json=body))

    async def _send(self, what: str, call: Callable[[User], Awaitable[Answer]]) -> Answer | None:
        at, answer = time.monotonic(), None
        try:
            answer = await call(self._user.at(self._random.choice(self._apis)))
        except ClientError:
            # The process was killed.
            await asyncio.sleep(PACE_SECONDS)
        self._written.writes.append(Begun(what, at, answer))
        if answer is not None and answer.status < 300:
            self._written.stored[what] += 1
            await self._progress.advance()
        elif answer is not None and answer.status >= 500:
            check_failure(answer)
        return answer
