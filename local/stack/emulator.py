"""What the emulators of cloud services have in common: a process on a port of its own, started, waited for, stopped."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from local.stack.process import Child, ReservedPort


class Emulator(ABC):
    """A running emulator; as a context manager it stops at the end. The port stays the same over restarts."""

    environment: dict[str, str]
    """The settings with which the service finds it."""

    def __init__(self, child: Child, port: ReservedPort) -> None:
        """`child` listens on `port`; nothing is started yet."""
        self.child = child
        self._port = port

    @abstractmethod
    def wait_until_ready(self) -> None:
        """Wait until it answers. Raises StackError."""

    def launch(self) -> None:
        """Start the process without waiting for it."""
        self.child.start()

    def start(self) -> None:
        """Start the process and wait until it answers. Raises StackError. Again after `stop` or `kill` is fine."""
        self.launch()
        self.wait_until_ready()

    def stop(self) -> None:
        """SIGTERM, and wait: everything is on disk then."""
        self.child.stop()

    def kill(self) -> None:
        """SIGKILL, and wait."""
        self.child.kill()

    def close(self) -> None:
        """Stop, and give the port back."""
        self.stop()
        self._port.release()

    def __enter__(self) -> Self:
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
