"""The emulator as a program: one port of 127.0.0.1, one data directory."""

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from local.emulators.search.app import create_app
from local.emulators.search.faults import Faults
from local.emulators.search.service import SearchService
from local.emulators.search.storage import Storage, StorageBusyError
from local.emulators.serving import serve

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
    with contextlib.closing(storage):
        service = SearchService(storage)
        serve(create_app(service, options.api_key, Faults()), port=options.port, name="search emulator")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m local.emulators.search", description="An emulator of Azure AI Search."
    )
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="0 picks a free one (default: %(default)s)")
    parser.add_argument("--data", type=Path, help="directory of the data; without it everything is in memory")
    parser.add_argument("--api-key", default=DEFAULT_ADMIN_KEY, help="the admin key (default: %(default)s)")
    return parser.parse_args(arguments)
