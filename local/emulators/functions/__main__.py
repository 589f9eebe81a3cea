"""`python -m local.emulators.functions --app DIR --port PORT`: run a function app until SIGTERM or SIGINT."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from local.emulators.functions import log_lines
from local.emulators.functions.host import run
from local.emulators.functions.host_options import HostError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the host; return 0 after a signal, 1 when the app cannot be run."""
    parser = argparse.ArgumentParser(
        prog="python -m local.emulators.functions", description="A local Azure Functions host."
    )
    parser.add_argument(
        "--app", type=Path, required=True, help="the app's directory, with host.json and function_app.py"
    )
    parser.add_argument("--port", type=int, required=True, help="for GET /health and POST /admin/functions/{name}")
    parser.add_argument("--grace", type=float, default=20.0, help="seconds for invocations to end after SIGTERM")
    chosen = parser.parse_args(arguments)
    log_lines.configure(os.environ.get("MEMNET_LOG_LEVEL") or "info")
    try:
        asyncio.run(_run(chosen.app, chosen.port, chosen.grace))
    except HostError as error:
        print(f"local.emulators.functions: {error}", file=sys.stderr)
        return 1
    return 0


async def _run(app: Path, port: int, grace: float) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await run(app, dict(os.environ), port=port, grace=grace, stop=stop)


if __name__ == "__main__":
    sys.exit(main())
