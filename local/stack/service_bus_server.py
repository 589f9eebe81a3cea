"""The Service Bus emulator as a process: Azure Service Bus on 127.0.0.1, from `local.emulators.service_bus`."""

import socket
from pathlib import Path

from local.stack.emulator import Emulator
from local.stack.process import Child, ReservedPort

CONFIG = Path(__file__).resolve().parents[1] / "emulators" / "service_bus" / "Config.json"
"""The queues, in the format of Microsoft's own emulator."""
KEY = "SAS_KEY_VALUE"
"""The emulator's key, the same everywhere: it listens on this machine only, and does not check it."""
SECONDS_TO_START = 60


class ServiceBus(Emulator):
    """A running Service Bus emulator; as a context manager it stops at the end."""

    key = KEY

    def __init__(
        self, *, log: Path, directory: Path | None = None, config: Path = CONFIG, lock_seconds: float | None = None
    ) -> None:
        """Keep the messages in `directory`, written before they are acknowledged; None: in memory.

        `config` says which queues there are; `lock_seconds` replaces the lock duration of all of them.
        """
        port = ReservedPort()
        self._address = ("127.0.0.1", port.number)
        self.url = f"sb://127.0.0.1:{port.number}"
        self.environment = {"MEMNET_QUEUE_URL": self.url, "MEMNET_QUEUE_KEY": KEY}
        arguments = ["--config", str(config.resolve()), "--port", str(port.number)]
        arguments += [] if directory is None else ["--data", str(directory.resolve())]
        arguments += [] if lock_seconds is None else ["--lock-seconds", str(lock_seconds)]
        super().__init__(
            Child.python("service-bus", "local.emulators.service_bus", *arguments, environment={}, log=log), port
        )

    @property
    def connection_string(self) -> str:
        """What the SDK's `from_connection_string` and a Functions connection setting take."""
        return (
            f"Endpoint={self.url};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey={self.key};"
            "UseDevelopmentEmulator=true;"
        )

    def wait_until_ready(self) -> None:
        """Wait until it listens. Raises StackError."""
        self.child.wait_until(self._listens, seconds=SECONDS_TO_START)

    def _listens(self) -> bool:
        try:
            socket.create_connection(self._address, timeout=5).close()
        except OSError:
            return False
        return True
