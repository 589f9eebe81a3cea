"""The workers as a process of the local stack: the function app of workers/ under the local Functions host."""

import http.client
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local.stack.emulator import Emulator
from local.stack.process import ROOT, Child, ReservedPort, status_of

SECONDS_TO_START = 60
SECONDS_TO_STOP = 25
"""More than the host's own grace for invocations under way."""


class WorkerHost(Emulator):
    """One process that works off the queues and fires the timers; several may run side by side."""

    def __init__(
        self, name: str = "worker", *, environment: Mapping[str, str], log: Path, app: Path = ROOT / "workers"
    ) -> None:
        """`environment` holds the settings and MEMNET_SERVICE_BUS, the triggers' connection string."""
        port = ReservedPort()
        self.url = f"http://127.0.0.1:{port.number}"
        arguments = ["--app", str(app.resolve()), "--port", str(port.number)]
        super().__init__(
            Child.python(name, "local.emulators.functions", *arguments, environment=environment, log=log), port
        )

    def wait_until_ready(self) -> None:
        """Wait until it takes messages. Raises StackError."""
        self.child.wait_until(lambda: status_of(f"{self.url}/health") == 200, seconds=SECONDS_TO_START)

    def stop(self) -> None:
        """SIGTERM, and wait for the running invocations; an unfinished message is delivered again."""
        self.child.stop(seconds=SECONDS_TO_STOP)

    def functions(self) -> dict[str, dict[str, Any]]:
        """Return the counts of each function: invocations, failures, running, last_error. Raises OSError."""
        connection = self._connection()
        try:
            connection.request("GET", "/health")
            counts: dict[str, dict[str, Any]] = json.load(connection.getresponse())["functions"]
            return counts
        finally:
            connection.close()

    def fire(self, name: str) -> None:
        """Start the timer `name` now, without waiting for its end. Raises KeyError if there is none, OSError."""
        connection = self._connection()
        try:
            connection.request("POST", f"/admin/functions/{name}")
            if connection.getresponse().status != 202:
                raise KeyError(name)
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port.number, timeout=5.0)
