"""A server that imports the service once and forks for each process that a test starts.

Most of what a start costs is importing. `Forks` replaces `popen` in `local.stack.process.Child`. A child is a
process of its own, in a session of its own, with its own environment and files; SIGKILL ends it like any other.
`python -m tests.fork_server SOCKET` is the server; it ends with the process that started it.
"""

import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import cli.main
from local.stack.process import ROOT, Process

TETHERED = [sys.executable, "-m", "local.stack.parent_death"]
COMMANDS = sorted({entry.partition(":")[0] for entry in cli.main.COMMANDS.values()})
LOADED = {
    "api.main": ["api.main"],
    "local.emulators.functions": ["local.emulators.functions.host"],
    "cli.main": COMMANDS,
}
"""The programs that are forked, and the modules imported for each."""


class Forked:
    """A process that the server has forked, with the part of Popen's interface that `Child` uses."""

    def __init__(self, connection: socket.socket, stdin: IO[bytes]) -> None:
        self._connection = connection
        self.stdin: IO[bytes] | None = stdin
        self.pid = self._number()
        self.returncode: int | None = None

    def _number(self) -> int:
        data = self._connection.recv(4, socket.MSG_WAITALL)
        if len(data) < 4:
            raise OSError("the fork server is gone")
        return int.from_bytes(data, "big", signed=True)

    def poll(self) -> int | None:
        """Return the exit code, or None while the process runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end. Raises TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._connection], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("a forked process", timeout or 0)
            self.returncode = self._number()
            self._connection.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal to a running process; its id is not reused before `poll` has reported its end."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


class Forks:
    """Starts children: a loaded program by a server of this process, any other as usual."""

    def __init__(self, otherwise: Callable[[Sequence[str], Mapping[str, str], Path], Process], directory: Path) -> None:
        self._otherwise, self._directory = otherwise, directory
        self._server: subprocess.Popen[bytes] | None = None

    def __call__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> Process:
        if list(command[:3]) != TETHERED or command[3] not in LOADED:
            return self._otherwise(command, environment, log)
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._address())
        end, kept = os.pipe()
        with log.open("ab") as output:
            socket.send_fds(connection, [b"f"], [end, output.fileno()])
        os.close(end)
        call = json.dumps([list(command[2:]), {**os.environ, **environment}]).encode()
        connection.sendall(len(call).to_bytes(4, "big") + call)
        return Forked(connection, os.fdopen(kept, "wb", 0))

    def _address(self) -> str:
        address = str(self._directory / "forks")
        if self._server is None:
            command = [sys.executable, "-m", __name__, address]
            self._server = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert self._server.stdout is not None
            assert self._server.stdout.readline() == b"listening\n"
        return address

    def close(self) -> None:
        """End the server; the forked processes end with their own parents."""
        if self._server is not None and self._server.stdin and self._server.stdout:
            self._server.stdin.close()
            self._server.stdout.close()
            self._server.wait()


def serve(address: str) -> None:
    """Fork for each connection, until standard input is closed."""
    for names in LOADED.values():
        for name in names:
            importlib.import_module(name)
    for name in LOADED:
        sys.modules.pop(name, None)  # it runs as __main__
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        print("listening", flush=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # no forked process keeps the pipe open
        while True:
            ready, _, _ = select.select([server, sys.stdin], [], [])
            if sys.stdin in ready:
                return
            connection, _ = server.accept()
            if os.fork() == 0:
                if os.fork() == 0:
                    server.close()
                    _keep(connection)
                os._exit(0)
            os.wait()
            connection.close()


def _keep(connection: socket.socket) -> None:
    """Fork the child, and send its id and its exit code. Its id is not reused before the receiver confirms."""
    _, files, _, _ = socket.recv_fds(connection, 1, 2)
    length = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
    arguments, environment = json.loads(connection.recv(length, socket.MSG_WAITALL))
    child = os.fork()
    if child == 0:
        connection.close()
        _run(arguments, environment, *files)
    for file in files:
        os.close(file)
    with suppress(OSError):
        connection.sendall(child.to_bytes(4, "big", signed=True))
        ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        assert ended is not None
        code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
        connection.sendall(code.to_bytes(4, "big", signed=True))
        connection.recv(1)
    os._exit(0)


def _run(arguments: list[str], environment: dict[str, str], stdin: int, output: int) -> None:
    code: Any = 1
    try:
        os.setsid()
        for file, number in ((stdin, 0), (output, 1), (output, 2)):
            os.dup2(file, number)
        for file in {stdin, output} - {0, 1, 2}:
            os.close(file)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = arguments
        importlib.import_module(arguments[0]).main()
        code = 0
    except SystemExit as end:
        code = 0 if end.code is None else end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
