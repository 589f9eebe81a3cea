"""Work that is done elsewhere or later: the queue of jobs, the background."""

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
        ...

    async def purge(self, scope: Whose) -> int:
        """Remove every message that is about the user, or about the tenant and none of its users; return how many this
        call has removed.

        Those that wait and those that are scheduled, in every queue of users' jobs and among the dead letters; of a
        dead letter that names no user nobody can tell, and it stays. The messages of others keep their order. Raises
        Unavailable, with less removed than there is, when the broker fails or somebody works on one of the messages at
        the moment: the same call again takes the rest.
        """
        ...

    async def ping(self) -> None:
        """Ask the broker whether it can serve. Raises Unavailable."""
        ...


class Background(Protocol):
    """Work that need not be finished for the answer to be true."""

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` later in this process. It may be lost with the process; its failure is logged, not raised."""
        ...
