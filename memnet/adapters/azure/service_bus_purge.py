"""Takes what is about one user out of the queues of Azure Service Bus.

A queue with sessions gives its messages only to who holds their session, so nobody else's are touched there. Browsing
(peek) shows the scheduled and the deferred ones, too, each with the sequence number by which it is cancelled or
received (Microsoft's "Message browsing", "Message sequencing and timestamps": a scheduled message has its number until
it is due, and gets another one then).

Dead letters have no sessions, and are handed out one after the other: what is ahead of the user's is held until those
are gone, and then given back, which keeps its place and counts as a delivery. So they are browsed first, and where
nothing is the user's nothing is touched.
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

MOST_AT_ONCE = 250
"""So many messages are browsed, or received, by one call."""
FRUITLESS_ROUNDS = 3
"""So often what is browsed may not be had before somebody else has it, for now."""
A_MOMENT = 1.0
"""Seconds to wait for messages that browsing does not show."""
CLOSE_SECONDS = 2.0
"""How long a receiver may take to go; a healthy one takes up to one second."""

T = TypeVar("T")
Messages = Sequence[ServiceBusReceivedMessage]
IsTheirs = Callable[[ServiceBusReceivedMessage], bool]
Cancel = Callable[[int], Awaitable[None]]


class Purge:
    """Removes the messages of one user; its methods return how many, and raise Unavailable and the SDK's errors."""

    def __init__(self, client: ServiceBusClient, scope: Whose, timeout_seconds: float) -> None:
        """`timeout_seconds` bounds each step."""
        self._client = client
        self._scope = scope
        self._session = session_of(scope.tenant_id, scope.user_id)
        self._timeout = timeout_seconds

    async def from_session(self, queue: str, cancel: Cancel) -> int:
        """Empty the user's session of a queue; `cancel` takes back a scheduled message of it.

        Unavailable while somebody else holds the session.
        """
        removed = fruitless = 0
        async with self._opened(self._client.get_queue_receiver(queue, session_id=self._session)) as receiver:
            while fruitless < FRUITLESS_ROUNDS:
                shown = await self._soon(receiver.peek_messages(MOST_AT_ONCE, sequence_number=1))
                gone = await self._remove(shown, receiver, cancel)
                # A message may be there that browsing does not show yet: nothing is empty before both say so.
                if not shown and not gone:
                    return removed
                removed += gone
                fruitless = 0 if gone else fruitless + 1
        raise Unavailable(dependency="service_bus")

    async def from_dead_letters(self, queue: str) -> int:
        """Take the user's out of a queue's own dead letters."""
        return await self._from(
            queue, ServiceBusSubQueue.DEAD_LETTER, lambda m: is_about(self._scope, _body(m), m.session_id)
        )

    async def from_letters(self, queue: str) -> int:
        """Take the user's out of the queue that the workers put their dead letters into, and out of its own ones."""
        found = [await self._from(queue, part, self._is_letter) for part in (None, ServiceBusSubQueue.DEAD_LETTER)]
        return sum(found)

    def _is_letter(self, message: ServiceBusReceivedMessage) -> bool:
        return letter_is_about(self._scope, _body(message))

    async def _remove(self, shown: Messages, receiver: ServiceBusReceiver, cancel: Cancel) -> int:
        removed = 0
        for message in _of(shown, ServiceBusMessageState.SCHEDULED):
            # One that has become due meanwhile has another number by now.
            with suppress(MessageNotFoundError):
                await self._soon(cancel(message.sequence_number or 0))
                removed += 1
        deferred = [message.sequence_number or 0 for message in _of(shown, ServiceBusMessageState.DEFERRED)]
        if deferred:
            removed += await self._complete(await self._soon(receiver.receive_deferred_messages(deferred)), receiver)
        wait = self._timeout / 2 if _of(shown, ServiceBusMessageState.ACTIVE) else A_MOMENT
        received = await self._soon(receiver.receive_messages(MOST_AT_ONCE, max_wait_time=wait))
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
                    count = min(MOST_AT_ONCE, ahead + len(wanted) - len(held))
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
        """How many messages of others stand before the user's last one, and the numbers of the user's."""
        ahead = passed = 0
        wanted: set[int | None] = set()
        following = 1
        while shown := await self._soon(receiver.peek_messages(MOST_AT_ONCE, sequence_number=following)):
            for message in shown:
                if is_theirs(message):
                    wanted.add(message.sequence_number)
                    ahead = passed
                else:
                    passed += 1
            following = (shown[-1].sequence_number or 0) + 1
        return ahead, wanted

    async def _give_back(self, messages: Iterable[ServiceBusReceivedMessage], receiver: ServiceBusReceiver) -> None:
        """Whatever fails here, the broker gives them back by itself when their locks end."""
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
    """The bytes of a message; of one that is not made of bytes, which is none of memnet's, nothing."""
    return b"".join(message.body) if message.body_type == AmqpMessageBodyType.DATA else b""
