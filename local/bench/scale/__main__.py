"""`python -m local.bench.scale [--users N] [--json FILE]`: seed users, run the timers, and project the cost."""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console

from local.bench.scale.projection import Timer, price_of_requests, project
from local.bench.scale.report import show
from local.bench.scale.seeding import change, seed
from local.bench.scale.timers import RUNS_A_MONTH, clear_changed, kill_and_resume, make_due, measure
from local.bench.scale.world import Measured, World, open_world
from local.bench.session import progress
from local.stack.azurite_server import Azurite, create_container
from local.stack.process import StackError
from memnet.domain.upkeep.marks import SHARDS, Work

USERS = 20_000
SHARE = 100
"""One user in so many has something to do."""
PROJECTED = (1_000_000, 100_000_000)
PLAIN_WIDTH = 140


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print. Return 0, or 1 if Azurite failed or a killed run did not resume."""
    parser = argparse.ArgumentParser(prog="python -m local.bench.scale", description="The timers with many users.")
    parser.add_argument("--users", type=int, default=USERS, help="how many users to seed (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there, too")
    options = parser.parse_args(arguments)
    try:
        summary = run(options.users)
    except StackError as error:
        print(f"memnet: {error}", file=sys.stderr)
        return 1
    show(summary, Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH))
    if options.json is not None:
        options.json.write_text(json.dumps(summary, indent=2) + "\n", "utf-8")
    return 1 if summary["resumed"]["left"] else 0


def run(users: int) -> dict[str, Any]:
    """Start Azurite, measure with so many users, and return the summary. Raises StackError."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memnet-scale-")))
        azurite = stack.enter_context(Azurite(log=directory / "azurite.log"))
        return asyncio.run(_measure(create_container(azurite.account_url, "memnet"), users))


async def _measure(storage_url: str, users: int) -> dict[str, Any]:
    async with open_world(storage_url) as world:
        found: list[Measured] = []
        progress(f"seeding {users:,} users")
        async with world.measuring("seed", users, found):
            documents = await seed(world, users)
        seeding = found.pop()
        some = range(0, users, SHARE)
        await clear_changed(world)
        await _changed(world, some, found)
        await _due(world, some, found)
        progress("a run that is killed and resumes")
        others = range(1, users, SHARE)
        resumed = await kill_and_resume(others, found[1].calls.total() // 2, world)
        timers = {
            Work.CHANGED: Timer(RUNS_A_MONTH[Work.CHANGED], found[0], found[1]),
            Work.DUE: Timer(RUNS_A_MONTH[Work.DUE], found[2], found[3]),
        }
    return {
        "users": users,
        "documents": documents,
        "seconds": seeding.seconds,
        "processor_seconds": seeding.processor_seconds,
        "seeding_calls": seeding.calls,
        "measured": [
            {
                "work": one.name,
                "users": one.users,
                "seconds": one.seconds,
                "processor_seconds": one.processor_seconds,
                "calls": one.calls,
            }
            for one in found
        ],
        "resumed": resumed,
        "requests": price_of_requests(),
        "projections": [project(many, timers, len(SHARDS)) for many in (users, *PROJECTED)],
    }


async def _changed(world: World, some: Sequence[int], found: list[Measured]) -> None:
    """Run the timer of changed users with nothing to do, and after a few changes."""
    progress("changed users: none, then some")
    await measure(Work.CHANGED, "none", 0, world, found)
    await change(world, some)
    await measure(Work.CHANGED, f"1 in {SHARE}", len(some), world, found)


async def _due(world: World, some: Sequence[int], found: list[Measured]) -> None:
    """Run the timer of due users with nothing due, and with a few users due."""
    progress("due users: none, then some")
    await measure(Work.DUE, "none", 0, world, found)
    await make_due(some, world)
    await measure(Work.DUE, f"1 in {SHARE}", len(some), world, found)


if __name__ == "__main__":
    sys.exit(main())
