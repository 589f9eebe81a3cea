"""The unchanged SDK's asynchronous client."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from azure.servicebus import NEXT_AVAILABLE_SESSION, ServiceBusMessage
from azure.servicebus.aio import AutoLockRenewer, ServiceBusClient
from azure.servicebus.exceptions import MessagingEntityNotFoundError, ServiceBusError

from tests.emulators.service_bus.bus import WAIT, Bus


def connect(bus: Bus) -> ServiceBusClient:
    return ServiceBusClient.from_connection_string(bus.broker.connection_string, retry_total=0)


async def test_competing_receivers_share_what_there_is(bus: Bus) -> None:
    queue, found = bus.queue("plain"), list[str]()

    async def work() -> None:
        async with client.get_queue_receiver(queue, max_wait_time=1) as receiver:
            async for got in receiver:
                found.append(str(got))
                await receiver.complete_message(got)

    async with connect(bus) as client:
        async with client.get_queue_sender(queue) as sender:
            await sender.send_messages([ServiceBusMessage(str(number)) for number in range(40)])
        await asyncio.gather(*(work() for _ in range(3)))
        async with client.get_queue_receiver(queue) as receiver:
            assert await receiver.peek_messages(10, sequence_number=1) == []
    assert sorted(found, key=int) == [str(number) for number in range(40)]


async def test_workers_take_sessions_one_after_the_other_and_each_in_order(bus: Bus) -> None:
    queue = bus.queue("sessions")
    found: dict[str, list[str]] = {}
    running: set[str] = set()

    async def work() -> None:
        while sum(map(len, found.values())) < 24:
            receiver = client.get_queue_receiver(queue, session_id=NEXT_AVAILABLE_SESSION, max_wait_time=1)
            try:
                await receiver.__aenter__()
            except ServiceBusError:
                return
            session_id = str(receiver.session.session_id)
            assert session_id not in running
            running.add(session_id)
            for got in await receiver.receive_messages(2):
                await asyncio.sleep(0)
                found.setdefault(session_id, []).append(str(got))
                await receiver.complete_message(got)
            running.remove(session_id)
            await receiver.__aexit__(None, None, None)

    async with connect(bus) as client:
        async with client.get_queue_sender(queue) as sender:
            await sender.send_messages([ServiceBusMessage(str(n), session_id=s) for n in range(4) for s in "abcdef"])
        await asyncio.gather(*(work() for _ in range(4)))
    assert found == {s: ["0", "1", "2", "3"] for s in "abcdef"}


async def test_the_rest_works_as_with_the_synchronous_client(bus: Bus) -> None:
    queue, once = bus.queue("renewed-sessions"), bus.queue("once")
    due = datetime.now(UTC) + timedelta(hours=1)

    async def settle() -> None:
        async with client.get_queue_sender(queue) as sender:
            await sender.send_messages([ServiceBusMessage(text, session_id="s") for text in "abcd"])
        async with (
            client.get_queue_receiver(queue, session_id="s", max_wait_time=WAIT) as receiver,
            AutoLockRenewer() as renewer,
        ):
            renewer.register(receiver, receiver.session, max_lock_renewal_duration=30)
            [a] = await receiver.receive_messages(1)
            await receiver.abandon_message(a)
            [a] = await receiver.receive_messages(1)
            assert (str(a), a.delivery_count) == ("a", 1)
            await receiver.dead_letter_message(a, reason="Why", error_description="because")
            [b] = await receiver.receive_messages(1)
            await receiver.defer_message(b)
            [b] = await receiver.receive_deferred_messages(b.sequence_number or 0)
            await receiver.session.set_state(b"state")
            assert await receiver.session.get_state() == b"state"
            await asyncio.sleep(3.5)  # longer than the lock, which the SDK has to renew
            await receiver.complete_message(b)
            assert await receiver.session.renew_lock() > datetime.now(UTC)
            left = await receiver.peek_messages(10, sequence_number=1)
            assert [str(message) for message in left] == ["c", "d"]
        async with client.get_queue_receiver(queue, sub_queue="deadletter", max_wait_time=WAIT) as dead:
            [a] = await dead.receive_messages()
            assert (a.dead_letter_reason, a.dead_letter_error_description) == ("Why", "because")

    async def schedule() -> None:
        async with client.get_queue_sender(once) as sender:
            number, other = await sender.schedule_messages([ServiceBusMessage("x"), ServiceBusMessage("y")], due)
            await sender.cancel_scheduled_messages(other)
            for _ in range(2):
                await sender.send_messages(ServiceBusMessage("z", message_id="1", scheduled_enqueue_time_utc=due))
        async with client.get_queue_receiver(once) as receiver:
            peeked = await receiver.peek_messages(10)
            assert [(str(message), message.sequence_number) for message in peeked] == [("x", number), ("z", other + 1)]

    async def miss() -> None:
        with pytest.raises(MessagingEntityNotFoundError):
            async with client.get_queue_receiver("nowhere") as receiver:
                await receiver.receive_messages()

    async with connect(bus) as client:
        await asyncio.gather(settle(), schedule(), miss())
