"""MessageQueue on Azure Service Bus: one long-lived sender per queue, with sessions and duplicate detection.

The SDK waits 50 ms for each of the ten frames that open a sender; on an open one a message costs one round trip.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from functools import partial
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

from azure.core.exceptions import AzureError
from azure.identity.aio import DefaultAzureCredential
from azure.servicebus import ServiceBusMessage
from azure.servicebus.aio import ServiceBusClient, ServiceBusSender
from azure.servicebus.exceptions import MessageNotFoundError

from memnet.adapters.azure.service_bus_purge import QUIET_SECONDS, Purge
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.job import (
    ATTEMPT,
    DEAD_LETTERS,
    QUEUES,
    TRACEPARENT,
    Job,
    JobKind,
    dump,
    kinds_of,
    message_id,
    session_id,
)
from memnet.domain.governance.erasure import Whose
from memnet.paging import bounded
from memnet.ports import MessageQueue

KEY_NAME = "RootManageSharedAccessKey"
"""The policy that every new namespace has; the emulator has it, too."""
DEFAULT_TIMEOUT_SECONDS = 10.0
TLS_PORT = 5671
CLOSE_SECONDS = 2.0
"""How long closing a failed sender may take; a healthy one takes up to one second."""
_SASL_HEADER = b"AMQP\x03\x01\x00\x00"
"""The protocol header that both sides send first (AMQP 1.0, 5.3.2)."""
_FAILURES = (AzureError, OSError, TimeoutError, asyncio.IncompleteReadError)

_log = logging.getLogger("memnet.queue")

T = TypeVar("T")


class ServiceBusQueue:
    """The MessageQueue port; errors as the port says."""

    def __init__(
        self,
        client: ServiceBusClient,
        address: SplitResult,
        names: Mapping[JobKind, str],
        letters: str,
        timeout_seconds: float,
        quiet_seconds: float,
        traceparent: Callable[[], str | None],
    ) -> None:
        """Use `open_queue`."""
        self._client = client
        self._names = names
        self._letters = letters
        self._senders = {kind: _Sender(partial(client.get_queue_sender, name)) for kind, name in names.items()}
        self._address = address
        self._timeout = timeout_seconds
        self._quiet = quiet_seconds
        self._traceparent = traceparent

    async def send(self, job: Job, *, attempt: int = 0, due: datetime | None = None) -> None:
        """Send a job to the queue of its kind. Raises Unavailable; what then arrives all the same is a duplicate."""
        properties: dict[str | bytes, Any] = {ATTEMPT: attempt}
        if (traceparent := self._traceparent()) is not None:
            properties[TRACEPARENT] = traceparent
        message = ServiceBusMessage(
            dump(job),
            content_type="application/json",
            message_id=message_id(job, attempt),
            session_id=session_id(job),
            scheduled_enqueue_time_utc=due,
            application_properties=properties,
        )
        await self._bounded(self._senders[job.kind].send(message), self._timeout)

    async def purge(self, scope: Whose) -> int:
        """Empty the sessions of the user or tenant, and remove their messages from all dead letters.

        Each step is bounded; the whole takes as long as there are messages. All queues are purged before a failure in
        one of them is raised. Raises Unavailable.
        """
        purge = Purge(self._client, scope, self._timeout, self._quiet)
        # By queue: two kinds may share one, and only one receiver at a time may hold a session.
        kinds = [kind for kind in kinds_of(scope.user_id) if kind in self._names]
        cancels = {self._names[kind]: self._senders[kind].cancel for kind in kinds}
        steps = [partial(purge.from_session, name, cancel) for name, cancel in cancels.items()]
        steps += [partial(purge.from_dead_letters, name) for name in cancels]
        steps.append(partial(purge.from_letters, self._letters))
        return sum(await bounded(lambda step: self._bounded(step()), steps))

    async def ping(self) -> None:
        """Open a sender if there is none yet, and exchange AMQP headers with the broker. Raises Unavailable.

        The sender proves that the queue exists and admits this process, the headers that the broker answers now.
        """
        await self._bounded(self._ping(), self._timeout)

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

    async def _bounded(self, call: Awaitable[T], seconds: float | None = None) -> T:
        try:
            async with asyncio.timeout(seconds):
                return await call
        except _FAILURES as error:
            # Not the error's text: it may quote what was sent.
            _log.warning("service bus: %s", type(error).__name__)
            raise Unavailable(dependency="service_bus") from error

    async def close(self) -> None:
        """Close the senders. Each may take a second."""
        await asyncio.gather(*(sender.close() for sender in self._senders.values()))


class _Sender:
    """A sender of the SDK, used by one call at a time and replaced after a failure."""

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

    async def cancel(self, sequence: int) -> None:
        """Cancel a scheduled message. Raises MessageNotFoundError if it is no longer scheduled."""
        async with self._lock:
            sender = await self._take()
            try:
                await sender.cancel_scheduled_messages(sequence)
            except MessageNotFoundError:
                self._is_sound = True
                raise
            self._is_sound = True

    async def open(self) -> None:
        async with self._lock:
            if not self._is_sound:
                sender = await self._take()
                await sender.create_message_batch()
                self._is_sound = True

    async def _take(self) -> ServiceBusSender:
        """Return the sender. Its caller marks it sound after success; after a failure or a cancellation it is
        replaced.
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
    quiet_seconds: float = QUIET_SECONDS,
    names: Mapping[JobKind, str] = QUEUES,
    traceparent: Callable[[], str | None] = lambda: None,
    letters: str = DEAD_LETTERS,
) -> AsyncIterator[MessageQueue]:
    """Connect to the namespace at `url`, sb://<host>, with the key of RootManageSharedAccessKey or an Entra identity.

    A port in the URL means the emulator, which speaks AMQP without TLS and accepts keys only. `timeout_seconds` bounds
    each call; `quiet_seconds` is how long a purge waits for further messages; `traceparent` returns the span that
    messages continue. Nothing is sent before the first call. Raises ValueError: the address is not one of a namespace,
    or an Entra identity would be used without TLS.
    """
    async with open_client(url, key=key, retries=2) as client:
        queue = ServiceBusQueue(client, urlsplit(url), names, letters, timeout_seconds, quiet_seconds, traceparent)
        try:
            yield queue
        finally:
            await queue.close()


@asynccontextmanager
async def open_client(url: str, *, key: str | None, retries: int) -> AsyncIterator[ServiceBusClient]:
    """Yield the SDK's client of the namespace at `url`, as `open_queue` describes it. Raises ValueError."""
    address = urlsplit(url)
    if address.scheme != "sb" or not address.hostname or address.path.strip("/") or address.query:
        raise ValueError(url)
    if key is None and address.port is not None:
        raise ValueError(url)
    options: dict[str, Any] = {"retry_total": retries, "retry_backoff_factor": 0.1, "retry_backoff_max": 1}
    credential = None
    if key is None:
        credential = DefaultAzureCredential()
        client = ServiceBusClient(address.hostname, credential, **options)
    else:
        emulator = "" if address.port is None else "UseDevelopmentEmulator=true;"
        parts = f"Endpoint=sb://{address.netloc};SharedAccessKeyName={KEY_NAME};SharedAccessKey={key};{emulator}"
        client = ServiceBusClient.from_connection_string(parts, **options)
    try:
        async with client:
            yield client
    finally:
        if credential is not None:
            await credential.close()
