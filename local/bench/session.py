"""A stack under measurement, and the processes that call it."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from local.bench import subject
from local.bench.storage_log import StorageLog
from local.bench.timing import requests
from local.bench.worker import Worker
from local.stack.stack import Stack, running_stack

NO_QUOTA = "1000000000/minute"
ROLES = ("Memory.Read", "Memory.Write", "Memory.Audit")


@dataclass(frozen=True)
class Session:
    """The stack, and one process each for the service's client, the stock clients and a bare HTTP client."""

    stack: Stack
    service: Worker
    stock: Worker
    raw: Worker
    storage: StorageLog
    settings: dict[str, str]
    """The settings of the service."""

    def measure(
        self, name: str, users: Sequence[str], clients: int, count: int, pause: float = 0.0
    ) -> tuple[list[float], Counter[str], int]:
        """Measure a call of the service; return the seconds, and the storage calls of so many requests."""
        before = self.storage.position()
        seconds = self.service.ask("measure", name=name, users=users, clients=clients, count=count, pause=pause)
        self.storage.settle()
        return seconds, self.storage.since(before), requests(clients, count)


@contextmanager
def running_session() -> Iterator[Session]:
    """Run a stack without workers and the processes that measure it. Raises StackError, WorkerFailed."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(prefix="memnet-bench-")))
        settings = {
            **subject.write_catalog(directory),
            "MEMNET_QUOTA_PER_USER": NO_QUOTA,
            "MEMNET_QUOTA_PER_PRINCIPAL": NO_QUOTA,
        }
        running = stack.enter_context(running_stack(environment=settings, workers=0, storage_log=True))
        token = running.token(tenants=subject.TENANT, principal="bench", roles=ROLES)
        storage = running.storage_url
        yield Session(
            stack=running,
            service=stack.enter_context(Worker(kind="service", loop="uvloop", url=running.url, token=token)),
            stock=stack.enter_context(Worker(kind="stock", loop="asyncio", url=storage, search_url=running.search.url)),
            raw=stack.enter_context(Worker(kind="raw", loop="uvloop", url=storage)),
            storage=StorageLog(running.directory / "log" / "azurite.log"),
            settings={**settings, **running.environment},
        )


def progress(what: str) -> None:
    """Say what is done now."""
    print(what, file=sys.stderr, flush=True)
