"""The queues by their names, and their journal."""

from collections.abc import Callable, Iterator, Mapping
from uuid import UUID

from local.emulators.service_bus.changes import Change
from local.emulators.service_bus.errors import NOT_FOUND, RefusedError
from local.emulators.service_bus.journal import Journal
from local.emulators.service_bus.options import QueueOptions
from local.emulators.service_bus.queues import DEAD_LETTERS, Queue


class Broker:
    """All queues. What was done to them counts only after `commit`, which comes before every acknowledgement."""

    def __init__(
        self,
        queues: Mapping[str, QueueOptions],
        journal: Journal | None,
        *,
        clock: Callable[[], float],
        new_token: Callable[[], UUID],
    ) -> None:
        """Take over what is in the journal; without one, everything is in memory alone."""
        self._journal = journal
        self._changes: list[Change] = []
        self._queues = {
            name.lower(): Queue(name, options, clock=clock, new_token=new_token, changes=self._changes)
            for name, options in queues.items()
        }
        if journal is not None:
            for queue in self.queues():
                queue.restore(journal.load(queue.name))

    def queues(self) -> Iterator[Queue]:
        """Yield every queue, those of dead letters too."""
        for queue in self._queues.values():
            yield queue
            if queue.dead_letters is not None:
                yield queue.dead_letters

    def find(self, address: str) -> Queue:
        """Return the queue at an address like `jobs` or `jobs/$DeadLetterQueue`. Raises RefusedError."""
        name, _, part = address.partition("/")
        queue = self._queues.get(name.lower())
        if queue is not None and part:
            queue = queue.dead_letters if part.lower() == DEAD_LETTERS.lower() else None
        if queue is None:
            raise RefusedError(NOT_FOUND, f"The messaging entity {address!r} could not be found.")
        return queue

    def commit(self) -> None:
        """Write down what was done since the last time."""
        if self._changes and self._journal is not None:
            self._journal.write(self._changes)
        self._changes.clear()
