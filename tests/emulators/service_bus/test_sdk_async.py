"""The unchanged SDK's asynchronous client."""

import asyncio

from azure.servicebus import ServiceBusMessage
from azure.servicebus.aio import ServiceBusClient

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
