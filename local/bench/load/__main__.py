"""`python -m local.bench.load [--minutes N] [--json FILE]`: find the knee, then soak."""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import uvloop
from rich.console import Console

from local.bench.figures import percentile
from local.bench.load.driver import Driver
from local.bench.load.findings import Step, is_over, knee
from local.bench.load.gauges import Gauges, NoGauges
from local.bench.load.mix import Failed
from local.bench.load.report import show, summarise
from local.bench.subject import TENANT, write_catalog
from local.stack.process import StackError
from local.stack.stack import NO_UPKEEP, Stack, running_stack

NO_QUOTA = "1000000000/minute"
ROLES = ("Memory.Read", "Memory.Write")
PLAIN_WIDTH = 150


@dataclass(frozen=True)
class Scale:
    """How much is done."""

    minutes: float = 10.0
    users: int = 60
    step_seconds: float = 8.0
    most_clients: int = 64


SCALE = Scale()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print. Return 0, or 1 if the stack failed or the error budget was overspent."""
    parser = argparse.ArgumentParser(
        prog="python -m local.bench.load", description="A mixed load on a stack of its own."
    )
    parser.add_argument("--minutes", type=float, default=SCALE.minutes, help="of the soak (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there, too")
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH)
    try:
        summary = run(replace(SCALE, minutes=options.minutes))
    except (StackError, NoGauges, Failed) as error:
        print(f"memnet: {error}", file=sys.stderr)
        return 1
    show(summary, console)
    if options.json is not None:
        options.json.write_text(json.dumps(summary, indent=2) + "\n", "utf-8")
    return 0 if summary["soak"]["budget"]["used"] <= 1 else 1


def run(scale: Scale) -> dict[str, Any]:
    """Start a stack, put load on it, and return the summary. Raises StackError, NoGauges, Failed."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memnet-load-")))
        settings = {
            **write_catalog(directory),
            **NO_UPKEEP,
            "MEMNET_QUOTA_PER_USER": NO_QUOTA,
            "MEMNET_QUOTA_PER_PRINCIPAL": NO_QUOTA,
        }
        running = stack.enter_context(running_stack(environment=settings))
        runner = stack.enter_context(asyncio.Runner(loop_factory=uvloop.new_event_loop))
        return runner.run(_measure(running, scale))


async def _measure(running: Stack, scale: Scale) -> dict[str, Any]:
    token = running.token(tenants=TENANT, principal="load", roles=ROLES, lifetime=24 * 3600)
    users = [f"user-{number}" for number in range(scale.users)]
    driver, gauges = Driver(running.url, token, users), Gauges(_pids(running))
    _tell("preparing")
    await driver.seed()
    steps: list[Step] = []
    clients = 1
    while clients <= scale.most_clients and not is_over(steps):
        _tell(f"{clients} clients")
        steps.append(await _step(driver, gauges, clients, scale.step_seconds))
        clients *= 2
    # At the knee everything waits in line; what is served well, comes with room to spare.
    clients = max(1, knee(steps).clients // 2)
    _tell(f"soak: {clients} clients for {scale.minutes:g} minutes")
    memory = [gauges.memory("api")]
    soak = await driver.run(clients, scale.minutes * 60, lambda: memory.append(gauges.memory("api")))
    return summarise(steps, clients, soak, memory)


async def _step(driver: Driver, gauges: Gauges, clients: int, seconds: float) -> Step:
    gauges.start()
    tally = await driver.run(clients, seconds)
    times = tally.all_seconds()
    if not times:
        raise Failed(f"nothing was answered: {dict(tally.failures)}")
    return Step(clients, tally.throughput, percentile(times, 0.95), gauges.shares().cores)


def _pids(running: Stack) -> dict[str, int]:
    pids: dict[str, int] = {name: pid for name, pid in running.description()["pids"].items() if pid is not None}
    del pids["stack"]
    return {**pids, "the load itself": os.getpid()}


def _tell(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
