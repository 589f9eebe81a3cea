"""`python -m api.main`: serve the API until SIGTERM or SIGINT."""

import asyncio
import logging
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import uvicorn
import uvloop

from api import telemetry
from api.app import create_app
from api.bounded_request import bounded_request
from api.draining_server import DrainingServer
from api.identity import TokenValidator
from api.issuer_keys import open_issuer_keys
from memnet import settings as environment
from memnet.catalog import CatalogError
from memnet.domain.errors import CatalogConflict, Unavailable
from memnet.domain.search_layout import mismatch
from memnet.log_redaction import OwnWords
from memnet.operations.reconcile_events import ReconcileReport, reconcile_events
from memnet.operations.sweep_outboxes import SweepReport, sweep_outboxes
from memnet.operations.tell_backlog import Backlog, tell_backlog
from memnet.settings import Settings, SettingsError
from memnet.stores import Search
from memnet.wiring import Services, connect, open_telemetry

GRACE_SECONDS = 20
"""How long requests under way may take to end after a signal."""
BACKLOG_SECONDS = 60.0
"""How often telemetry is told how old the oldest unfinished work is. The workers tell, too, if they run."""

_log = logging.getLogger("memnet.main")


def main() -> int:
    """Run the service; return the exit code. What is wrong with the configuration is told one problem a line."""
    try:
        settings = environment.load()
        telemetry.configure(settings.log_level)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_serve(settings))
    except (SettingsError, CatalogError, CatalogConflict) as error:
        print(error, file=sys.stderr)
        return 1


async def _serve(settings: Settings) -> int:
    async with AsyncExitStack() as stack:
        told = await stack.enter_async_context(open_telemetry(settings, "api"))
        telemetry.tell_traces(told.trace_id)
        services = await stack.enter_async_context(connect(settings, told))
        identity = await stack.enter_async_context(_identity(settings, services))
        await _register(services)
        await _check_embeddings(services)
        await stack.enter_async_context(_repeated("sweep", services.settings.sweep_seconds, partial(_sweep, services)))
        if services.search is not None:
            reconcile = partial(_reconcile, services, services.search)
            await stack.enter_async_context(_repeated("reconciliation", services.settings.reconcile_seconds, reconcile))
        if told.enabled:
            await stack.enter_async_context(_repeated("backlog", BACKLOG_SECONDS, partial(_tell_backlog, services)))
        app = create_app(services, identity)
        config = uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            http=bounded_request(
                services.ids, head_seconds=settings.head_seconds, answer_seconds=settings.answer_seconds
            ),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        server = DrainingServer(config, app.state.in_flight, settings.drain_seconds)
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


async def _register(services: Services) -> None:
    """Raise CatalogConflict if a version of the catalog was used before with another text.

    While the storage does not answer, that is not known; the first write of a document asks again.
    """
    try:
        await services.registration()
    except Unavailable:
        _log.warning("the versions of the catalog are not registered: the storage does not answer")


async def _check_embeddings(services: Services) -> None:
    """Raise SettingsError if the index was made with other embeddings; what cannot be asked now, is not asked."""
    if services.search is None:
        return
    try:
        layout = await services.search.register.recent()
    except Unavailable:
        _log.warning("whether the index fits the embeddings is not known: the storage does not answer")
        return
    problem = layout and mismatch(layout, services.search.model, services.search.dimensions)
    if problem:
        raise SettingsError(f"MEMNET_EMBEDDINGS: {problem}.")


@asynccontextmanager
async def _repeated(name: str, seconds: float, work: Callable[[], Awaitable[object]]) -> AsyncIterator[None]:
    """Do `work` now and every `seconds` while the context is open; 0: never."""
    if not seconds:
        yield
        return
    task = asyncio.create_task(_repeat(name, seconds, work), name=name)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _repeat(name: str, seconds: float, work: Callable[[], Awaitable[object]]) -> None:
    while True:
        try:
            _log.info("%s: %s", OwnWords(name), await work())
        except Exception:
            _log.exception("%s failed", OwnWords(name))
        await asyncio.sleep(seconds)


async def _tell_backlog(services: Services) -> Backlog:
    return await tell_backlog(
        marks=services.marks,
        events=services.events,
        search=services.search,
        erasures=services.erasures,
        clock=services.clock,
        telemetry=services.telemetry,
    )


async def _sweep(services: Services) -> SweepReport:
    return await sweep_outboxes(documents=services.documents, audit=services.audit, clock=services.clock)


async def _reconcile(services: Services, search: Search) -> ReconcileReport:
    return await reconcile_events(events=services.events, search=search, clock=services.clock, ids=services.ids)


if __name__ == "__main__":
    sys.exit(main())
