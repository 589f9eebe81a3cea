"""The emulator as a program: one port of 127.0.0.1, one data directory."""

import argparse
import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

import uvicorn

from local.search.app import create_app
from local.search.faults import Faults
from local.search.service import SearchService
from local.search.shell import Keys
from local.search.storage import Storage, StorageBusyError

DEFAULT_PORT: Final = 7272
DEFAULT_ADMIN_KEY: Final = "local-search-admin-key"
"""Known to everyone, as the storage emulator's key is: the emulator listens on this machine only."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the emulator until SIGTERM or SIGINT."""
    options = _options(arguments)
    try:
        storage = Storage(options.data)
    except StorageBusyError as error:
        sys.exit(f"The search emulator cannot start: {error}.")
    signal.signal(signal.SIGTERM, _stop)
    with contextlib.closing(storage), _listen(options.port) as listener:
        service = SearchService(storage, time.monotonic)
        keys = Keys(options.api_key or [DEFAULT_ADMIN_KEY], options.query_key)
        config = uvicorn.Config(
            create_app(service, keys, Faults()),
            log_level="warning",
            access_log=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=1,
        )
        with contextlib.suppress(KeyboardInterrupt):
            _Server(config).run(sockets=[listener])


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say where the emulator is as soon as it answers."""
        await super().startup(sockets)
        if self.started and sockets:
            print(f"ready http://127.0.0.1:{sockets[0].getsockname()[1]}", flush=True)


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    """End in order on SIGTERM, which uvicorn raises again when it has stopped."""
    raise SystemExit(0)


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        sys.exit(f"The search emulator cannot use port {port}: {error}.")
    return listener


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m local.search", description="An emulator of Azure AI Search.")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="0 picks a free one (default: %(default)s)")
    parser.add_argument("--data", type=Path, help="directory of the data; without it everything is in memory")
    parser.add_argument(
        "--api-key", action="append", help=f"an admin key; may be repeated (default: {DEFAULT_ADMIN_KEY})"
    )
    parser.add_argument("--query-key", action="append", default=[], help="a key that may only read documents")
    return parser.parse_args(arguments)
