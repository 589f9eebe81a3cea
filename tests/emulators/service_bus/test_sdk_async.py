"""The unchanged SDK's asynchronous client."""

import asyncio

from azure.servicebus import NEXT_AVAILABLE_SESSION, ServiceBusMessage
from azure.servicebus.aio import ServiceBusClient
from azure.servicebus.exceptions import ServiceBusError

from tests.emulators.service_bus.bus import Bus


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
