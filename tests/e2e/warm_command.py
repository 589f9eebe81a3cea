"""The command `memnet` from a process that has its modules loaded already, and forks for each call.

Most of what a call of the command costs is importing. `python -m tests.e2e.warm_command SOCKET` listens; the script
that `client` writes replaces the command, and passes on its arguments, directory, environment and files.
"""

import importlib
import json
import os
import socket
import sys
import traceback
from pathlib import Path

from cli.main import COMMANDS, run

CLIENT = """#!{python} -SE
import json, os, socket, sys

server = socket.socket(socket.AF_UNIX)
server.connect({path!r})
call = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [len(call).to_bytes(4, "big")], [0, 1, 2])
server.sendall(call)
sys.exit(server.recv(1)[0])
"""


def client(place: Path, listening: Path) -> None:
    """Write the script that calls the process listening there."""
    place.write_text(CLIENT.format(python=sys.executable, path=str(listening)), "utf-8")
    place.chmod(0o755)


def serve(listening: str) -> None:
    """Answer calls, one after the other, until the process ends."""
    for entry in COMMANDS.values():
        importlib.import_module(entry.partition(":")[0])
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(listening)
        server.listen()
        print("listening", flush=True)
        while True:
            connection, _ = server.accept()
            with connection:
                _answer(connection)


def _answer(connection: socket.socket) -> None:
    head, files, _, _ = socket.recv_fds(connection, 4, 3)
    length = int.from_bytes(head, "big")
    call = b""
    while len(call) < length:
        call += connection.recv(length - len(call))
    child = os.fork()
    if child == 0:
        _run(call, files)
    for file in files:
        os.close(file)
    _, status = os.waitpid(child, 0)
    connection.sendall(bytes([os.waitstatus_to_exitcode(status) & 0xFF]))


def _run(call: bytes, files: list[int]) -> None:
    code = 1
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
        sys.argv, directory, environment = json.loads(call)
        os.chdir(directory)
        os.environ.clear()
        os.environ.update(environment)
        run()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
