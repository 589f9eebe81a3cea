"""The host: an indexed app, its pumps, its timers, and an HTTP address to ask and to fire timers at."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from aiohttp import web
from azure.servicebus.aio import AutoLockRenewer

from local.emulators.functions.indexed_app import IndexedApp
from local.emulators.functions.queue_pump import QueuePump
from local.emulators.functions.timers import Timer

log = logging.getLogger("memnet.functions")


class Host:
    """Runs the functions of one app."""

    def __init__(self, app: IndexedApp, settings: Mapping[str, str]) -> None:
        """Bind every function that is not disabled to its trigger. Raises HostError."""
        self.app = app
        functions = [f for f in app.functions.values() if not _is_disabled(f.name, settings)]
        self._pumps = [QueuePump(app, f, settings) for f in functions if f.trigger["type"] == "serviceBusTrigger"]
        self._timers = {f.name: Timer(app, f, settings) for f in functions if f.trigger["type"] == "timerTrigger"}
        self._fired: set[asyncio.Task[None]] = set()
        self._stopping = False

    @asynccontextmanager
    async def running(self, *, grace: float) -> AsyncIterator[None]:
        """Run while the context is open; at the end wait `grace` seconds for the invocations under way."""
        async with AsyncExitStack() as stack:
            renewer = AutoLockRenewer()
            stack.push_async_callback(renewer.close)
            stack.push_async_callback(self._stop, grace)
            for pump in self._pumps:
                pump.start(renewer)
            for timer in self._timers.values():
                timer.start()
            log.info("host_started functions=%s", ",".join(self.app.functions))
            yield

    async def _stop(self, grace: float) -> None:
        self._stopping = True
        await asyncio.gather(
            *(pump.stop(grace) for pump in self._pumps), *(t.stop(grace) for t in self._timers.values())
        )
        for task in self._fired:
            task.cancel()
        await asyncio.gather(*self._fired, return_exceptions=True)
        log.info("host_stopped")

    @asynccontextmanager
    async def serving(self, port: int) -> AsyncIterator[None]:
        """Answer on 127.0.0.1:`port` while the context is open."""
        site = web.Application()
        site.router.add_get("/health", self._health)
        site.router.add_post("/admin/functions/{name}", self._invoke)
        runner = web.AppRunner(site, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", port).start()
            yield
        finally:
            await runner.cleanup()

    async def _health(self, _request: web.Request) -> web.Response:
        status = "stopping" if self._stopping else "running"
        return web.json_response({"status": status, "functions": self.app.counts.members()})

    async def _invoke(self, request: web.Request) -> web.Response:
        """Start a function that is not bound to HTTP, as Azure's address of that name does; here timers alone."""
        timer = self._timers.get(request.match_info["name"])
        if timer is None or self._stopping:
            return web.Response(status=404 if timer is None else 503)
        task = asyncio.create_task(timer.fire())
        self._fired.add(task)
        task.add_done_callback(self._fired.discard)
        return web.Response(status=202)


def _is_disabled(name: str, settings: Mapping[str, str]) -> bool:
    """By the setting AzureWebJobs.<name>.Disabled, in whose name Linux takes _ for the dots."""
    said = (settings.get(f"AzureWebJobs{mark}{name}{mark}Disabled", "") for mark in "._")
    return any(text.lower() in ("1", "true") for text in said)


async def run(app: Path, settings: Mapping[str, str], *, port: int, grace: float, stop: asyncio.Event) -> None:
    """Run the app in the directory `app` until `stop` is set. Raises HostError."""
    async with AsyncExitStack() as stack:
        indexed = await stack.enter_async_context(IndexedApp(app))
        host = Host(indexed, settings)
        await stack.enter_async_context(host.serving(port))
        await stack.enter_async_context(host.running(grace=grace))
        await stop.wait()
