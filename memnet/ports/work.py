"""Asynchronous work: the queue of jobs, and background tasks of this process."""

from collections.abc import Coroutine
from datetime import datetime
from typing import Any, Protocol

from memnet.domain.core.job import Job
from memnet.domain.governance.erasure import Whose


class MessageQueue(Protocol):
    """Sends jobs to the workers: at least once, in order within a session, one at a time within a session."""

    async def send(self, job: Job, *, attempt: int = 0, due: datetime | None = None) -> None:
        """Send a job, to be delivered not before `due`. The same job and attempt within minutes is sent once.

        Raises Unavailable when the outcome is unknown.
        """

    async def purge(self, scope: Whose) -> int:
        """Delete every message about the user, or about the tenant and none of its users; return how many.

        This covers waiting and scheduled messages and dead letters, in every queue of users' jobs. A dead letter that
        names no user is kept. The messages of others keep their order. Raises Unavailable: the broker failed, or a
        worker holds one of the messages. Some messages remain; the same call deletes them later.
        """

    async def ping(self) -> None:
        """Check that the broker can be used. Raises Unavailable."""


class Background(Protocol):
    """Work that need not be complete when the response is sent."""

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` later in this process. It may be lost with the process; its failure is logged, not raised."""
