"""`python -m local.bench.worker`: one side in a process of its own, driven by one command a line.

Standard input brings one JSON object a line, the first of which says which side to be; standard output answers each
with one. The process ends when its input does.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

import uvloop

from local.bench.raw_side import RawSide
from local.bench.service_side import ServiceSide
from local.bench.stock_side import StockSide


class WorkerFailed(Exception):
    """A worker could not run its command; the message says why."""


class Worker:
    """The other end: starts the process and sends it commands."""

    def __init__(self, **side: Any) -> None:
        """`side` holds `kind` (service, stock or raw), `loop` (asyncio or uvloop) and what that side needs."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "local.bench.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._send(side)

    def ask(self, do: str, **arguments: Any) -> Any:
        """Have the worker call its side's method `do`, and return what that returned. Raises WorkerFailed."""
        self._send({"do": do, **arguments})
        line = self._process.stdout.readline() if self._process.stdout else b""
        if not line:
            raise WorkerFailed(f"the worker ended with exit code {self._process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerFailed(answer["error"])
        return answer["result"]

    def _send(self, message: dict[str, Any]) -> None:
        if self._process.stdin is None:
            raise WorkerFailed("the worker has no input")
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(BrokenPipeError):
            self._process.communicate()


async def _work(side: ServiceSide | StockSide | RawSide) -> None:
    while line := await asyncio.to_thread(sys.stdin.readline):
        task = json.loads(line)
        try:
            answer = {"result": await getattr(side, task.pop("do"))(**task)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
    if not isinstance(side, ServiceSide):
        await side.close()


async def _main(side: dict[str, Any]) -> None:
    if side["kind"] == "service":
        await _work(ServiceSide(side["url"], side["token"]))
    elif side["kind"] == "raw":
        await _work(RawSide(side["url"]))
    else:
        await _work(StockSide(side["url"], side["search_url"]))


if __name__ == "__main__":
    told: dict[str, Any] = json.loads(sys.stdin.readline())
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if told["loop"] == "uvloop":
        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(_main(told))
