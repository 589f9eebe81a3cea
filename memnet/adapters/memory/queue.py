"""MessageQueue in lists. Every call yields to the event loop first, so that races show."""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.job import Job, JobKind, message_id, session_id, session_of
from memnet.domain.governance.dead_letter import letter_is_about
from memnet.domain.governance.erasure import Whose
from memnet.ports import Clock

WINDOW = timedelta(minutes=10)
"""How long a message id is remembered."""


@dataclass(slots=True)
class _Message:
    job: Job
    attempt: int
    ready_at: datetime
    delivered: bool = False


class MemoryQueue:
    """The MessageQueue port for tests, and its other end: `receive`, `complete`, `abandon` and `bury`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._messages: list[_Message] = []
        self._seen: dict[str, datetime] = {}
        self.dead: list[tuple[Job, int]] = []
        """The broker's own dead letters, with their attempts."""
        self.letters: list[str] = []
        """The workers' dead letters."""
        self.available = True
        """If False, every call of the port fails."""

    async def send(self, job: Job, *, attempt: int = 0, due: datetime | None = None) -> None:
        await self.ping()
        name, now = message_id(job, attempt), self._clock.now()
        if now - self._seen.get(name, now - WINDOW) < WINDOW:
            return
        self._seen[name] = now
        self._messages.append(_Message(job, attempt, now if due is None else max(now, due)))

    async def purge(self, scope: Whose) -> int:
        """Raises Unavailable, and deletes nothing, while one of the messages is being processed."""
        await self.ping()
        session = session_of(scope.tenant_id, scope.user_id)
        theirs = [m for m in self._messages if session_id(m.job) == session]
        if any(message.delivered for message in theirs):
            raise Unavailable(dependency="service_bus")
        dead = [found for found in self.dead if session_id(found[0]) == session]
        letters = [letter for letter in self.letters if letter_is_about(scope, letter.encode())]
        self._messages = [message for message in self._messages if message not in theirs]
        self.dead = [found for found in self.dead if found not in dead]
        self.letters = [letter for letter in self.letters if letter not in letters]
        return len(theirs) + len(dead) + len(letters)

    async def ping(self) -> None:
        await asyncio.sleep(0)
        if not self.available:
            raise Unavailable(dependency="service_bus")

    async def receive(self, kind: JobKind) -> tuple[Job, int] | None:
        """Deliver the next due job with its attempt, or None.

        A session delivers no further job before the last one is completed or abandoned.
        """
        await asyncio.sleep(0)
        now = self._clock.now()
        queue = [message for message in self._messages if message.job.kind == kind]
        busy = {session_id(message.job) for message in queue if message.delivered}
        for message in sorted(queue, key=lambda message: message.ready_at):
            if session_id(message.job) not in busy and message.ready_at <= now:
                message.delivered = True
                return message.job, message.attempt
        return None

    async def complete(self, job: Job) -> None:
        """Complete a delivered job."""
        await asyncio.sleep(0)
        self._messages.remove(self._delivered(job))

    async def abandon(self, job: Job) -> None:
        """Abandon a delivered job: it becomes the next of its session again."""
        await asyncio.sleep(0)
        self._delivered(job).delivered = False

    async def bury(self, job: Job) -> None:
        """Move a delivered job to the dead letters."""
        await asyncio.sleep(0)
        message = self._delivered(job)
        self._messages.remove(message)
        self.dead.append((message.job, message.attempt))

    def _delivered(self, job: Job) -> _Message:
        return next(message for message in self._messages if message.delivered and message.job == job)
