"""The services of this process: opened by its first invocation, shared by all, closed with the event loop."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import replace

from memnet import log_redaction
from memnet import settings as environment
from memnet.domain.core.errors import Unavailable
from memnet.service import Service
from memnet.settings import Settings, SettingsError
from memnet.wiring import connect, open_telemetry


class Connection:
    """Services that are connected once, on the loop the functions run on.

    A task of its own holds them open. Azure's worker tells nobody that it stops; but a loop that ends cancels its
    tasks, and the cancelled task closes what it holds. A process that is killed leaves nothing undone that another
    one does not finish.
    """

    def __init__(self, connect: Callable[[], AbstractAsyncContextManager[Service]]) -> None:
        """`connect` opens them; nothing is opened yet."""
        self._connect = connect
        self._holder: asyncio.Task[None] | None = None
        self._services: asyncio.Future[Service] | None = None

    async def service(self) -> Service:
        """Return them. Raises SettingsError, CatalogError and CatalogConflict; the next call tries again."""
        if self._services is None:
            self._services = asyncio.get_running_loop().create_future()
            self._holder = asyncio.create_task(self._hold(self._services), name="services")
        opening = self._services
        try:
            return await asyncio.shield(opening)
        except Exception:
            if self._services is opening:
                self._services = None
            raise

    async def close(self) -> None:
        """Close them, if they are open; the next call of `services` opens them anew."""
        holder, self._holder, self._services = self._holder, None, None
        if holder is not None:
            holder.cancel()
            await asyncio.wait([holder])

    async def _hold(self, opened: asyncio.Future[Service]) -> None:
        try:
            async with self._connect() as service:
                opened.set_result(service)
                await asyncio.Event().wait()
        except Exception as error:
            if opened.done():
                raise
            opened.set_exception(error)


def _connect() -> AbstractAsyncContextManager[Service]:
    settings = environment.load_storage()
    if settings is None:
        raise SettingsError("MEMNET_STORAGE_URL is required")
    # Before any memory is read: the host that collects the logs is not ours.
    log_redaction.install(settings.log_level)
    return _open(settings)


@asynccontextmanager
async def _open(settings: Settings) -> AsyncIterator[Service]:
    """With telemetry, but for Prometheus: nobody can reach a function's process, and the API may have the port."""
    async with (
        open_telemetry(replace(settings, prometheus_address=None), "worker") as telemetry,
        connect(settings, telemetry) as service,
    ):
        # While the storage does not answer, the first write of a document asks again.
        with suppress(Unavailable):
            await service.registration()
        yield service


connection = Connection(_connect)
"""The connection of this process, by the settings in its environment."""
