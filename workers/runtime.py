"""The services of this process: connected by its first invocation, shared by all, closed with the event loop."""

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
    """Services that are connected once, on the event loop that the functions run on.

    A task of its own keeps them connected. Azure's worker gives no notice before it stops; but a loop that ends cancels
    its tasks, and the cancelled task closes the services. After a kill, another process finishes what was left.
    """

    def __init__(self, connect: Callable[[], AbstractAsyncContextManager[Service]]) -> None:
        """Connect with `connect`, at the first call of `service`."""
        self._connect = connect
        self._holder: asyncio.Task[None] | None = None
        self._service: asyncio.Future[Service] | None = None

    async def service(self) -> Service:
        """Return the services, connected. After a failure the next call tries again.

        Raises SettingsError, CatalogError, CatalogConflict: the process cannot start with its settings or its catalog.
        """
        if self._service is None:
            self._service = asyncio.get_running_loop().create_future()
            self._holder = asyncio.create_task(self._hold(self._service), name="services")
        connecting = self._service
        try:
            return await asyncio.shield(connecting)
        except Exception:
            if self._service is connecting:
                self._service = None
            raise

    async def close(self) -> None:
        """Close the services if they are connected; the next call of `service` connects again."""
        holder, self._holder, self._service = self._holder, None, None
        if holder is not None:
            holder.cancel()
            await asyncio.wait([holder])

    async def _hold(self, connected: asyncio.Future[Service]) -> None:
        try:
            async with self._connect() as service:
                connected.set_result(service)
                await asyncio.Event().wait()
        except Exception as error:
            if connected.done():
                raise
            connected.set_exception(error)


def _connect() -> AbstractAsyncContextManager[Service]:
    settings = environment.load_storage()
    if settings is None:
        raise SettingsError("MEMNET_STORAGE_URL is required")
    # Before any memory is read, because another host collects the logs.
    log_redaction.install(settings.log_level)
    return _open(settings)


@asynccontextmanager
async def _open(settings: Settings) -> AsyncIterator[Service]:
    """Connect with telemetry, but without Prometheus: a function's process has no port of its own."""
    async with (
        open_telemetry(replace(settings, prometheus_address=None), "worker") as telemetry,
        connect(settings, telemetry) as service,
    ):
        # If the storage does not answer, the first write of a document registers again.
        with suppress(Unavailable):
            await service.registration()
        yield service


connection = Connection(_connect)
"""The connection of this process, with the settings of its environment."""
