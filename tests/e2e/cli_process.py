"""The command `memnet` as a process of its own, forked from one that has its modules loaded."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp

from local.stack.process import Child
from tests.e2e.client import PACE_SECONDS


def start_command(*arguments: str, environment: Mapping[str, str], logs: Path) -> Child:
    """Start `memnet` with these arguments; its output goes to a new directory of `logs`."""
    logs.mkdir(parents=True, exist_ok=True)
    log = Path(mkdtemp(prefix="memnet-", dir=logs)) / "log"
    child = Child.python("memnet", "cli.main", *arguments, environment=environment, log=log)
    child.start()
    return child


async def finish(child: Child) -> str:
    """Wait until the command ends with exit code 0; return its output."""
    while (code := child.ended()) is None:  # noqa: ASYNC110 (it ends elsewhere)
        await asyncio.sleep(PACE_SECONDS)
    await asyncio.to_thread(child.stop)
    output = child.log.read_text("utf-8")
    assert code == 0, output
    return output
