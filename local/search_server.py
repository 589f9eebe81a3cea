"""The search emulator as a process: Azure AI Search on 127.0.0.1, from `local.search`."""

from pathlib import Path
from types import TracebackType

from local.child import Child, ReservedPort, status_of

API_KEY = "local-search-admin-key"
"""The emulator's key, the same everywhere: it listens on this machine only."""
SECONDS_TO_START = 60


class SearchEmulator:
    """A running search emulator; as a context manager it stops at the end."""

    api_key = API_KEY

    def __init__(self, *, log: Path, directory: Path | None = None) -> None:
        """Keep the data in `directory`, written before it is answered; None: in memory."""
        self._port = ReservedPort()
        self.url = f"http://127.0.0.1:{self._port.number}"
        arguments = ["--port", str(self._port.number)]
        arguments += [] if directory is None else ["--data", str(directory.resolve())]
        self.child = Child.python("search", "local.search", *arguments, environment={}, log=log)

    def launch(self) -> None:
        """Start the process without waiting for it."""
        self.child.start()

    def wait_until_ready(self) -> None:
        """Wait until it answers. Raises StackError."""
        self.child.wait_until(lambda: status_of(f"{self.url}/_emulator/health") == 200, seconds=SECONDS_TO_START)

    def start(self) -> None:
        """Start it and wait until it answers. Raises StackError. Again after `kill` or `stop` is fine."""
        self.launch()
        self.wait_until_ready()

    def stop(self) -> None:
        """SIGTERM, and wait."""
        self.child.stop()

    def kill(self) -> None:
        """SIGKILL, and wait."""
        self.child.kill()

    def close(self) -> None:
        """Stop, and give the port back."""
        self.stop()
        self._port.release()

    def __enter__(self) -> "SearchEmulator":
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
