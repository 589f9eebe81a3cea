"""`python -m api.main`: serve the API until SIGTERM or SIGINT."""

import asyncio
import logging
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import uvicorn
import uvloop

from api import telemetry
from api.app import create_app
from api.bounded_head import BoundedHead
from api.identity import TokenValidator
from api.issuer_keys import open_issuer_keys
from memnet import settings as environment
from memnet.catalog import CatalogError
from memnet.operations.sweep_outboxes import sweep_outboxes
from memnet.settings import Settings, SettingsError
from memnet.wiring import Services, connect

GRACE_SECONDS = 20
"""How long requests under way may take to end after a signal."""

_log = logging.getLogger("memnet.main")


def main() -> int:
    """Run the service; return the exit code. What is wrong with the configuration is told one problem a line."""
    try:
        settings = environment.load()
        telemetry.configure(settings.log_level)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_serve(settings))
    except (SettingsError, CatalogError) as error:
        print(error, file=sys.stderr)
        return 1


async def _serve(settings: Settings) -> int:
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(connect(settings))
        identity = await stack.enter_async_context(_identity(settings, services))
        await stack.enter_async_context(_sweeper(services))
        config = uvicorn.Config(
            create_app(services, identity),
            host=settings.host,
            port=settings.port,
            http=BoundedHead,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        server = uvicorn.Server(config)
        # uvicorn raises the signal it was stopped by once more when it has stopped; what is left to close needs time.
        for stop in (signal.SIGTERM, signal.SIGINT):
            signal.signal(stop, lambda *_: None)
        await server.serve()
        return 0 if server.started else 1


@asynccontextmanager
async def _identity(settings: Settings, services: Services) -> AsyncIterator[TokenValidator]:
    keys = open_issuer_keys(settings.issuer_url, services.clock)
    async with AsyncExitStack() as stack:
        try:
            source = await stack.enter_async_context(keys)
        except ValueError as error:
            raise SettingsError(f"MEMNET_ISSUER_URL: {error}") from error
        yield TokenValidator(
            source,
            issuer=settings.issuer_url,
            audience=settings.audience,
            tenant_claim=settings.tenant_claim,
            clock=services.clock,
        )


@asynccontextmanager
async def _sweeper(services: Services) -> AsyncIterator[None]:
    """Sweep now and every `sweep_seconds` while the context is open."""
    if not services.settings.sweep_seconds:
        yield
        return
    task = asyncio.create_task(_sweep_forever(services), name="sweeper")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _sweep_forever(services: Services) -> None:
    while True:
        try:
            report = await sweep_outboxes(documents=services.documents, audit=services.audit, clock=services.clock)
            _log.info("sweep: %s", report)
        except Exception:
            _log.exception("sweep failed")
        await asyncio.sleep(services.settings.sweep_seconds)


if __name__ == "__main__":
    sys.exit(main())
