"""Remove the messages about one user from the queues of Azure Service Bus.

A queue with sessions delivers messages only to the holder of their session, so no other user's are touched there.
Browsing (peek) also shows scheduled and deferred messages, with the sequence number that cancels or receives them
(Microsoft's "Message browsing", "Message sequencing and timestamps": a scheduled message keeps its number until it is
due, and then gets another one).

Dead letters have no sessions and are delivered in order: messages ahead of the user's are locked until the user's are
removed, and then abandoned, which keeps their order and counts as a delivery. So dead letters are browsed first; if
none is about the user, none is received.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from azure.core.exceptions import AzureError
from azure.servicebus import ServiceBusMessageState, ServiceBusReceivedMessage, ServiceBusSubQueue
from azure.servicebus.aio import ServiceBusClient, ServiceBusReceiver
from azure.servicebus.amqp import AmqpMessageBodyType
from azure.servicebus.exceptions import MessageLockLostError, MessageNotFoundError

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.job import session_of
from memnet.domain.governance.dead_letter import is_about, letter_is_about
from memnet.domain.governance.erasure import Whose
from memnet.paging import bounded

MAX_MESSAGES = 250
"""Messages that one call browses or receives."""
MAX_EMPTY_ROUNDS = 3
"""Rounds in which browsing shows messages and none is received, before they count as locked by another receiver."""
QUIET_SECONDS = 1.0
"""How long to wait for messages that browsing does not show."""
CLOSE_SECONDS = 2.0
"""How long closing a receiver may take; a healthy one takes up to one second."""

T = TypeVar("T")
Messages = Sequence[ServiceBusReceivedMessage]
IsTheirs = Callable[[ServiceBusReceivedMessage], bool]
Cancel = Callable[[int], Awaitable[None]]


class Purge:
    """Removes the messages of one user; its methods return how many, and raise Unavailable and the SDK's errors."""

    def __init__(self, client: ServiceBusClient, scope: Whose, timeout_seconds: float, quiet_seconds: float) -> None:
        """`timeout_seconds` bounds each step; a session counts as empty after `quiet_seconds` without a message."""
        self._client = client
        self._scope = scope
        self._session = session_of(scope.tenant_id, scope.user_id)
        self._timeout = timeout_seconds
        self._quiet = quiet_seconds

    async def from_session(self, queue: str, cancel: Cancel) -> int:
        """Empty the user's session of a queue; `cancel` cancels a scheduled message of it.

        Raises Unavailable: another receiver holds the session.
        """
        removed = empty_rounds = 0
        async with self._opened(self._client.get_queue_receiver(queue, session_id=self._session)) as receiver:
            while empty_rounds < MAX_EMPTY_ROUNDS:
                shown = await self._soon(receiver.peek_messages(MAX_MESSAGES, sequence_number=1))
                gone = await self._remove(shown, receiver, cancel)
                # Browsing may not show a new message yet: the session is empty when receiving finds none either.
                if not shown and not gone:
                    return removed
                removed += gone
                empty_rounds = 0 if gone else empty_rounds + 1
        raise Unavailable(dependency="service_bus")

    async def from_dead_letters(self, queue: str) -> int:
        """Remove the user's messages from a queue's own dead letters."""
        return await self._from(
            queue, ServiceBusSubQueue.DEAD_LETTER, lambda m: is_about(self._scope, _body(m), m.session_id)
        )

    async def from_letters(self, queue: str) -> int:
        """Remove the user's messages from the workers' queue of dead letters, and from its own dead letters."""
        parts = (None, ServiceBusSubQueue.DEAD_LETTER)
        return sum(await bounded(lambda part: self._from(queue, part, self._is_letter), parts))

    def _is_letter(self, message: ServiceBusReceivedMessage) -> bool:
        return letter_is_about(self._scope, _body(message))

    async def _remove(self, shown: Messages, receiver: ServiceBusReceiver, cancel: Cancel) -> int:
        removed = 0
        for message in _of(shown, ServiceBusMessageState.SCHEDULED):
            # A message that has become due has another number now.
            with suppress(MessageNotFoundError):
                await self._soon(cancel(message.sequence_number or 0))
                removed += 1
        deferred = [message.sequence_number or 0 for message in _of(shown, ServiceBusMessageState.DEFERRED)]
        if deferred:
            removed += await self._complete(await self._soon(receiver.receive_deferred_messages(deferred)), receiver)
        wait = self._timeout / 2 if _of(shown, ServiceBusMessageState.ACTIVE) else self._quiet
        received = await self._soon(receiver.receive_messages(MAX_MESSAGES, max_wait_time=wait))
        return removed + await self._complete(received, receiver)

    async def _complete(self, messages: Messages, receiver: ServiceBusReceiver) -> int:
        for message in messages:
            await self._soon(receiver.complete_message(message))
        return len(messages)

    async def _from(self, queue: str, part: ServiceBusSubQueue | None, is_theirs: IsTheirs) -> int:
        async with self._opened(self._client.get_queue_receiver(queue, sub_queue=part)) as receiver:
            ahead, wanted = await self._find(receiver, is_theirs)
            held: list[ServiceBusReceivedMessage] = []
            removed = 0
            try:
                while wanted and len(held) <= ahead:
                    count = min(MAX_MESSAGES, ahead + len(wanted) - len(held))
                    received = await self._soon(receiver.receive_messages(count, max_wait_time=self._timeout / 2))
                    if not received:
                        break
                    theirs = [message for message in received if is_theirs(message)]
                    held += [message for message in received if not is_theirs(message)]
                    removed += await self._complete(theirs, receiver)
                    wanted -= {message.sequence_number for message in theirs}
            finally:
                await self._give_back(held, receiver)
            if wanted:
                raise Unavailable(dependency="service_bus")
            return removed

    async def _find(self, receiver: ServiceBusReceiver, is_theirs: IsTheirs) -> tuple[int, set[int | None]]:
        """Return how many messages of others precede the user's last one, and the numbers of the user's."""
        ahead = passed = 0
        wanted: set[int | None] = set()
        following = 1
        while shown := await self._soon(receiver.peek_messages(MAX_MESSAGES, sequence_number=following)):
            for message in shown:
                if is_theirs(message):
                    wanted.add(message.sequence_number)
                    ahead = passed
                else:
                    passed += 1
            following = (shown[-1].sequence_number or 0) + 1
        return ahead, wanted

    async def _give_back(self, messages: Iterable[ServiceBusReceivedMessage], receiver: ServiceBusReceiver) -> None:
        """Abandon messages. If that fails, the broker delivers them again when their locks expire."""
        with suppress(AzureError, OSError, TimeoutError):
            for message in messages:
                with suppress(MessageLockLostError):
                    await self._soon(receiver.abandon_message(message))

    @asynccontextmanager
    async def _opened(self, receiver: ServiceBusReceiver) -> AsyncIterator[ServiceBusReceiver]:
        try:
            await self._soon(receiver.__aenter__())
            yield receiver
        finally:
            with suppress(AzureError, OSError, TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await receiver.close()

    async def _soon(self, call: Awaitable[T]) -> T:
        async with asyncio.timeout(self._timeout):
            return await call


def _of(messages: Messages, state: ServiceBusMessageState) -> Messages:
    return [message for message in messages if message.state == state]


def _body(message: ServiceBusReceivedMessage) -> bytes:
    """Return the bytes of a message; empty if its body is not bytes, so that it is not one of memnet's."""
    return b"".join(message.body) if message.body_type == AmqpMessageBodyType.DATA else b""
