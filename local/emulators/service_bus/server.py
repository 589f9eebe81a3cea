"""The emulator as a program: one port of 127.0.0.1, one data directory."""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

from proton.reactor import Container

from local.emulators.service_bus.broker import Broker
from local.emulators.service_bus.front import Front
from local.emulators.service_bus.journal import Journal, JournalBusyError
from local.emulators.service_bus.options import ConfigError, load

HOST = "127.0.0.1"
DEFAULT_PORT = 5672
CONFIG = Path(__file__).with_name("Config.json")
"""memnet's queues."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the emulator until SIGTERM or SIGINT."""
    options = _options(arguments)
    with ExitStack() as stack:
        try:
            queues = load(options.config, lock_seconds=options.lock_seconds)
            journal = None if options.data is None else Journal(options.data)
        except (ConfigError, JournalBusyError) as error:
            sys.exit(f"The Service Bus emulator cannot start: {error}.")
        if journal is not None:
            stack.callback(journal.close)
        broker = Broker(queues, journal, clock=time.time, new_token=uuid4)
        front = Front(broker, host=HOST, port=options.port, clock=time.time)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: front.stop())
        try:
            Container(front).run()
        except OSError as error:
            sys.exit(f"The Service Bus emulator cannot use port {options.port}: {error}.")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m local.emulators.service_bus", description="An emulator of Azure Service Bus over AMQP 1.0."
    )
    parser.add_argument("--config", type=Path, default=CONFIG, help="the queues, as in Microsoft's own emulator")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="default: %(default)s")
    parser.add_argument("--data", type=Path, help="directory of the data; without it everything is in memory")
    parser.add_argument("--lock-seconds", type=float, help="the lock duration of all queues, in place of the file's")
    return parser.parse_args(arguments)
