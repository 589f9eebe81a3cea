"""MessageQueue on Azure Service Bus: one long-lived sender per queue, with sessions and duplicate detection.

The SDK waits 50 ms for each of the ten frames that open a sender; on an open one a message costs one round trip.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import SplitResult, urlsplit

from azure.core.exceptions import AzureError
from azure.identity.aio import DefaultAzureCredential
from azure.servicebus import ServiceBusMessage
from azure.servicebus.aio import ServiceBusClient, ServiceBusSender

from memnet.domain.errors import Unavailable
from memnet.domain.job import ATTEMPT, QUEUES, Job, JobKind, dump, message_id, session_id
from memnet.ports import MessageQueue

KEY_NAME = "RootManageSharedAccessKey"
"""The policy that every namespace has from the beginning, and the emulator, too."""
DEFAULT_TIMEOUT_SECONDS = 10.0
TLS_PORT = 5671
CLOSE_SECONDS = 2.0
"""How long a sender that has failed may take to go; a healthy one takes up to one second."""
_SASL_HEADER = b"AMQP\x03\x01\x00\x00"
"""What both sides say first (AMQP 1.0, 5.3.2)."""
_FAILURES = (AzureError, OSError, TimeoutError, asyncio.IncompleteReadError)

_log = logging.getLogger("memnet.queue")


class ServiceBusQueue:
    """The MessageQueue port; errors as the port says."""

    def __init__(
        self, client: ServiceBusClient, address: SplitResult, names: Mapping[JobKind, str], timeout_seconds: float
    ) -> None:
        """Use `open_queue`."""
        self._senders = {kind: _Sender(partial(client.get_queue_sender, name)) for kind, name in names.items()}
        self._address = address
        self._timeout = timeout_seconds

    async def send(self, job: Job, *, attempt: int = 0, due: datetime | None = None) -> None:
        """Send a job to the queue of its kind. Raises Unavailable; what then arrives all the same is a duplicate."""
        message = ServiceBusMessage(
            dump(job),
            content_type="application/json",
            message_id=message_id(job, attempt),
            session_id=session_id(job),
            scheduled_enqueue_time_utc=due,
            application_properties={ATTEMPT: attempt},
        )
        await self._bounded(self._senders[job.kind].send(message))

    async def ping(self) -> None:
        """Open a sender if there is none yet, and ask whether the broker speaks AMQP. Raises Unavailable.

        The first proves that the queue is there and lets this process in, the second that the broker is there now.
        """
        await self._bounded(self._ping())

    async def _ping(self) -> None:
        await next(iter(self._senders.values())).open()
        tls = self._address.port is None
        reader, writer = await asyncio.open_connection(
            self._address.hostname, self._address.port or TLS_PORT, ssl=True if tls else None
        )
        try:
            writer.write(_SASL_HEADER)
            await reader.readexactly(len(_SASL_HEADER))
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _bounded(self, call: Awaitable[None]) -> None:
        try:
            async with asyncio.timeout(self._timeout):
                await call
        except _FAILURES as error:
            # Not the error's text: it may quote what was sent.
            _log.warning("service bus: %s", type(error).__name__)
            raise Unavailable(dependency="service_bus") from error

    async def close(self) -> None:
        """Close the senders, each of which may take a second."""
        await asyncio.gather(*(sender.close() for sender in self._senders.values()))


class _Sender:
    """A sender of the SDK, which does one thing at a time, and is replaced after a failure."""

    def __init__(self, make: Callable[[], ServiceBusSender]) -> None:
        self._make = make
        self._lock = asyncio.Lock()
        self._sender: ServiceBusSender | None = None
        self._is_sound = False

    async def send(self, message: ServiceBusMessage) -> None:
        async with self._lock:
            sender = await self._take()
            await sender.send_messages(message)
            self._is_sound = True

    async def open(self) -> None:
        async with self._lock:
            if not self._is_sound:
                sender = await self._take()
                await sender.create_message_batch()
                self._is_sound = True

    async def _take(self) -> ServiceBusSender:
        """The sender, which is sound again only when what it is taken for has succeeded: a failure, or a caller
        that goes away, leaves one behind that nobody can rely on.
        """
        if not self._is_sound:
            await self.close()
        self._is_sound = False
        if self._sender is None:
            self._sender = self._make()
        return self._sender

    async def close(self) -> None:
        if self._sender is not None:
            with suppress(*_FAILURES):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._sender.close()
        self._sender = None


@asynccontextmanager
async def open_queue(
    url: str,
    *,
    key: str | None,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    names: Mapping[JobKind, str] = QUEUES,
) -> AsyncIterator[MessageQueue]:
    """Connect to the namespace at `url`, sb://<host>, with the key of RootManageSharedAccessKey or, without one, an
    Entra identity.

    A port in the URL means the emulator, which speaks AMQP without TLS and knows keys alone. `timeout_seconds` bounds
    each call. Nothing is sent before the first one. Raises ValueError for an address that is none, and for an Entra
    identity without TLS.
    """
    address = urlsplit(url)
    if address.scheme != "sb" or not address.hostname or address.path.strip("/") or address.query:
        raise ValueError(url)
    if key is None and address.port is not None:
        raise ValueError(url)
    options: dict[str, Any] = {"retry_total": 2, "retry_backoff_factor": 0.1, "retry_backoff_max": 1}
    credential = None
    if key is None:
        credential = DefaultAzureCredential()
        client = ServiceBusClient(address.hostname, credential, **options)
    else:
        client = ServiceBusClient.from_connection_string(_connection_string(address, key), **options)
    queue = ServiceBusQueue(client, address, names, timeout_seconds)
    try:
        async with client:
            try:
                yield queue
            finally:
                await queue.close()
    finally:
        if credential is not None:
            await credential.close()


def _connection_string(address: SplitResult, key: str) -> str:
    emulator = "" if address.port is None else "UseDevelopmentEmulator=true;"
    return f"Endpoint=sb://{address.netloc};SharedAccessKeyName={KEY_NAME};SharedAccessKey={key};{emulator}"
