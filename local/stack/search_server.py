"""The search emulator as a process: Azure AI Search on 127.0.0.1, from `local.emulators.search`."""

from pathlib import Path

from local.stack.emulator import Emulator
from local.stack.process import Child, ReservedPort, status_of

API_KEY = "local-search-admin-key"
"""The emulator's key, the same everywhere: it listens on this machine only."""
SECONDS_TO_START = 60


class SearchEmulator(Emulator):
    """A running search emulator; as a context manager it stops at the end."""

    api_key = API_KEY

    def __init__(self, *, log: Path, directory: Path | None = None) -> None:
        """Keep the data in `directory`, written before it is answered; None: in memory."""
        port = ReservedPort()
        self.url = f"http://127.0.0.1:{port.number}"
        self.environment = {"MEMNET_SEARCH_URL": self.url, "MEMNET_SEARCH_KEY": API_KEY}
        arguments = ["--port", str(port.number)]
        arguments += [] if directory is None else ["--data", str(directory.resolve())]
        super().__init__(Child.python("search", "local.emulators.search", *arguments, environment={}, log=log), port)

    def wait_until_ready(self) -> None:
        """Wait until it answers. Raises StackError."""
        self.child.wait_until(lambda: status_of(f"{self.url}/_emulator/health") == 200, seconds=SECONDS_TO_START)
