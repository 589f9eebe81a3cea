"""`python -m local.bench [--quick] [--json FILE]`: measure against a stack of its own, and print ratios."""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console

from local.bench.plan import FULL, QUICK, STOCK, STOCK_UVLOOP, Samples, Scale, compare, grow, grow_events
from local.bench.report import show, summarise
from local.bench.subject import TENANT, write_catalog
from local.bench.worker import Worker, WorkerFailed
from local.stack.process import StackError
from local.stack.stack import running_stack

NO_QUOTA = "1000000000/minute"
PLAIN_WIDTH = 140


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print. Return 0, or 1 if the stack or a call failed; a missed target is only reported."""
    parser = argparse.ArgumentParser(prog="python -m local.bench", description="The service against the stock clients.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, less growth: about a minute")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there, too")
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH)
    try:
        summary = run(QUICK if options.quick else FULL)
    except (StackError, WorkerFailed) as error:
        print(f"memnet: {error}", file=sys.stderr)
        return 1
    show(summary, console)
    if options.json is not None:
        options.json.write_text(json.dumps(summary, indent=2) + "\n", "utf-8")
    return 0


def run(scale: Scale) -> dict[str, Any]:
    """Start a stack, measure on it at `scale`, and return the summary. Raises StackError, WorkerFailed."""
    samples = Samples()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memnet-bench-")))
        settings = {
            **write_catalog(directory),
            "MEMNET_QUOTA_PER_USER": NO_QUOTA,
            "MEMNET_QUOTA_PER_PRINCIPAL": NO_QUOTA,
        }
        running = stack.enter_context(running_stack(environment=settings, workers=0))
        token = running.token(tenants=TENANT, principal="bench", roles=("Memory.Read", "Memory.Write"))
        service = stack.enter_context(Worker(kind="service", loop="uvloop", url=running.url, token=token))
        baselines = {
            name: stack.enter_context(
                Worker(kind="stock", loop=loop, url=running.storage_url, search_url=running.search.url)
            )
            for name, loop in ((STOCK, "asyncio"), (STOCK_UVLOOP, "uvloop"))
        }
        compare(service, baselines, scale, samples, _tell)
        grow(service, scale, samples, _tell)
        grow_events(service, baselines[STOCK], scale, samples, _tell)
    return summarise(samples)


def _tell(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
