"""The queues: whether they are there, take and give messages, and have sessions.

Over AMQP a queue says no more of itself than which links it refuses. Duplicate detection, lock durations and delivery
counts are told by its management address alone, to whoever owns the namespace's data, which the service does not.
"""

import asyncio
from typing import Any

from azure.core.exceptions import AzureError
from azure.servicebus import NEXT_AVAILABLE_SESSION
from azure.servicebus.aio import ServiceBusClient
from azure.servicebus.exceptions import MessagingEntityNotFoundError, OperationTimeoutError, ServiceBusError

from memnet.adapters.azure.access import refusal
from memnet.domain.core.prerequisite import Finding, PrerequisiteStatus

SENDER, RECEIVER = "Azure Service Bus Data Sender", "Azure Service Bus Data Receiver"
_NOT_ALLOWED = "amqp:not-allowed"
"""What a receiver that asks for a session, or for none, is refused with by a queue of the other kind."""


class QueuePrerequisite:
    """One queue."""

    def __init__(
        self, client: ServiceBusClient, name: str, *, sessions: bool, receives: bool, timeout_seconds: float
    ) -> None:
        """`receives`: the identity has to receive, too, which alone tells whether there are sessions."""
        self._client = client
        self._name = name
        self._sessions = sessions
        self._receives = receives
        self._timeout = timeout_seconds
        self._subject = f"queue: {name}"

    async def check(self) -> Finding:
        """Open a sender and, if it receives, a receiver of the kind that the queue has to refuse."""
        role = SENDER
        try:
            async with asyncio.timeout(self._timeout):
                await self._send()
            role = RECEIVER
            if self._receives:
                async with asyncio.timeout(self._timeout):
                    if await self._admits_the_other_kind():
                        return Finding(self._subject, PrerequisiteStatus.WRONG, self._deployed())
        except MessagingEntityNotFoundError:
            return Finding(self._subject, PrerequisiteStatus.MISSING, self._deployed())
        except (AzureError, OSError, TimeoutError) as error:
            return refusal(self._subject, error, role)
        return Finding(self._subject, PrerequisiteStatus.READY)

    async def _send(self) -> None:
        async with self._client.get_queue_sender(self._name) as sender:
            await sender.create_message_batch()

    async def _admits_the_other_kind(self) -> bool:
        """A link of the right kind would take a message, or a session, from a worker; this one takes nothing."""
        asked: dict[str, Any] = {"session_id": NEXT_AVAILABLE_SESSION, "max_wait_time": 1}
        receiver = self._client.get_queue_receiver(self._name, **({} if self._sessions else asked))
        try:
            async with receiver:
                return True
        except OperationTimeoutError:
            return not self._sessions  # it has sessions, and none that is free
        except ServiceBusError as error:
            if _NOT_ALLOWED in str(error):
                return False
            raise

    def _deployed(self) -> str:
        kind = "with sessions and duplicate detection" if self._sessions else "without sessions"
        return f"deploy a queue {kind} of this name: who runs the service cannot"
