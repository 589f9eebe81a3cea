"""Takes the messages of one Service Bus trigger: lock, invoke, send the outputs, complete; or abandon."""

import asyncio
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from azure.servicebus import NEXT_AVAILABLE_SESSION, ServiceBusMessage, ServiceBusReceivedMessage
from azure.servicebus.aio import AutoLockRenewer, ServiceBusClient, ServiceBusReceiver
from azure.servicebus.exceptions import OperationTimeoutError

from local.emulators.functions.app_settings import ServiceBusConnection, expand
from local.emulators.functions.host_options import HostError
from local.emulators.functions.indexed_app import IndexedApp, IndexedFunction
from local.emulators.functions.messages import TypedData, as_json, as_text

ACCEPT_SECONDS = 30.0
"""How long to wait for a session or a message before asking again."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
"""Seconds between two tries to reach a broker that is away."""
CANCEL_SECONDS = 1.0
"""Seconds between two cancellations of a receiver that has no message."""
log = logging.getLogger("memnet.functions")


class QueuePump:
    """The receivers of one trigger: as many at once as host.json allows, each on a connection of its own.

    A session stays with its receiver until it has been without messages for `sessionIdleTimeout`.
    """

    def __init__(self, app: IndexedApp, function: IndexedFunction, settings: Mapping[str, str]) -> None:
        """Find the queues and the connections of the bindings. Raises HostError."""
        trigger = function.trigger
        if str(trigger.get("cardinality") or "one").lower() != "one" or "queueName" not in trigger:
            raise HostError(f"{function.name}: the local host takes messages of queues, one by one")
        self._app = app
        self._function = function
        self._queue = expand(trigger["queueName"], settings)
        self._sessions = bool(trigger.get("isSessionsEnabled"))
        self._connection = ServiceBusConnection(trigger["connection"], settings)
        if any(output["connection"] != trigger["connection"] for output in function.outputs):
            raise HostError(f"{function.name}: the local host sends outputs through the trigger's connection")
        self._outputs = {output["name"]: expand(output["queueName"], settings) for output in function.outputs}
        self._completes = trigger.get("autoCompleteMessages", app.options.auto_complete_messages)
        self._tasks: set[asyncio.Task[None]] = set()
        self._busy: set[asyncio.Task[Any]] = set()
        self._stopping = False

    def start(self, renewer: AutoLockRenewer) -> None:
        """Begin to take messages."""
        self._renewer = renewer
        options = self._app.options
        receivers = options.max_concurrent_sessions if self._sessions else options.max_concurrent_calls
        for number in range(receivers):
            self._tasks.add(asyncio.create_task(self._run(), name=f"{self._function.name}-{number}"))

    async def stop(self, seconds: float) -> None:
        """Take no more messages, and wait `seconds` for those in progress; an unfinished message is delivered again."""
        self._stopping = True
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while (waiting := {task for task in self._tasks if not task.done()}) and loop.time() < deadline:
            # The SDK may swallow a cancellation while it opens a link: cancel again.
            for task in waiting - self._busy:
                task.cancel()
            await asyncio.wait(waiting, timeout=min(CANCEL_SECONDS, deadline - loop.time()))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self) -> None:
        """Take messages for as long as the host runs, with a new connection whenever one breaks."""
        pause = FIRST_PAUSE
        while not self._stopping:
            try:
                async with self._connection.open() as client:
                    while not self._stopping:
                        await self._receive(client)
                        pause = FIRST_PAUSE
            except Exception as error:
                # Whatever it is: the broker keeps the message, and a host that gives up would be worse.
                log.warning("queue_interrupted queue=%s error=%s", self._queue, type(error).__name__)
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    async def _receive(self, client: ServiceBusClient) -> None:
        """Accept one session and take its messages; or, without sessions, take messages until there are none."""
        options: dict[str, Any] = {"session_id": NEXT_AVAILABLE_SESSION} if self._sessions else {}
        receiver = client.get_queue_receiver(self._queue, max_wait_time=ACCEPT_SECONDS, **options)
        try:
            await receiver.__aenter__()
        except OperationTimeoutError:
            return  # no session has a message
        try:
            accepted = asyncio.get_running_loop().time()
            idle = self._app.options.session_idle_seconds if self._sessions else ACCEPT_SECONDS
            while not self._stopping and (messages := await receiver.receive_messages(1, max_wait_time=idle)):
                held = asyncio.get_running_loop().time() - accepted if self._sessions else 0.0
                await self._deliver(client, receiver, messages[0], held)
        finally:
            await receiver.__aexit__(None, None, None)

    async def _deliver(
        self, client: ServiceBusClient, receiver: ServiceBusReceiver, message: ServiceBusReceivedMessage, held: float
    ) -> None:
        """`held`: for how many seconds the session has been; the SDK counts its renewals from then on."""
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        try:
            longest = held + self._app.options.max_auto_lock_renewal_seconds
            self._renewer.register(receiver, receiver.session or message, max_lock_renewal_duration=longest)
            value = TypedData(bytes=b"".join(message.body))
            invocation = await self._app.invoke(self._function.name, value, trigger_metadata(message))
            if invocation.error is None and await self._sent(client, invocation.outputs):
                if self._completes:
                    await receiver.complete_message(message)
            else:
                await receiver.abandon_message(message)
        finally:
            self._busy.discard(task)

    async def _sent(self, client: ServiceBusClient, outputs: Mapping[str, str | bytes]) -> bool:
        """Send the outputs before the message is completed: a crash between makes them come twice, never not at all."""
        try:
            for name, value in outputs.items():
                async with client.get_queue_sender(self._outputs[name]) as sender:
                    await sender.send_messages(ServiceBusMessage(value))
        except Exception as error:
            log.error("output_failed function=%s error=%s", self._function.name, type(error).__name__)
            return False
        return True


def trigger_metadata(message: ServiceBusReceivedMessage) -> dict[str, TypedData]:
    """The metadata of a message as the extension passes it; deliveries count from 1 here, in the SDK from 0."""
    properties = {_text(name): _text(value) for name, value in (message.application_properties or {}).items()}
    known = {
        "MessageId": as_text(message.message_id),
        "DeliveryCount": as_json((message.delivery_count or 0) + 1),
        "LockToken": as_text(message.lock_token),
        "SequenceNumber": as_json(message.sequence_number),
        "EnqueuedTimeUtc": as_json(_utc(message.enqueued_time_utc)),
        "SessionId": as_text(message.session_id),
        "ContentType": as_text(message.content_type),
        "CorrelationId": as_text(message.correlation_id),
        "Subject": as_text(message.subject),
        "ApplicationProperties": as_json(properties),
        "UserProperties": as_json(properties),
    }
    if message.dead_letter_reason is not None:
        known["DeadLetterReason"] = as_text(message.dead_letter_reason)
        known["DeadLetterErrorDescription"] = as_text(message.dead_letter_error_description)
    return known


def _text(value: Any) -> Any:
    """AMQP has byte strings where JSON has text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str | int | float | bool) else str(value)


def _utc(time: datetime | None) -> str:
    return "" if time is None else time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
