"""What only the Azure adapter can get wrong: addresses, a broker that hangs, callers that go away."""

import asyncio
import gc
import logging
import os
import signal
from collections.abc import AsyncIterator, Iterator

import pytest
from azure.servicebus.aio import ServiceBusClient

from local.service_bus_server import ServiceBus
from memnet.adapters.azure.service_bus_queue import open_queue
from memnet.domain.errors import Unavailable
from memnet.domain.job import QUEUES, Job, JobKind
from memnet.ports import MessageQueue

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceBus]:
    with ServiceBus(log=tmp_path_factory.mktemp("service-bus") / "log") as running:
        yield running


@pytest.fixture
async def queue(broker: ServiceBus) -> AsyncIterator[MessageQueue]:
    async with open_queue(broker.url, key=broker.key, timeout_seconds=2) as connected:
        yield connected
    # The SDK (7.15) leaves the sockets of broken connections to the garbage collector: now, not in another's test.
    gc.collect()


async def sent(broker: ServiceBus, user: str) -> list[str]:
    """The message ids of one user's jobs in the queue."""
    async with (
        ServiceBusClient.from_connection_string(broker.connection_string) as client,
        client.get_queue_receiver(QUEUES[JobKind.REPLAY], session_id=f"t/{user}") as receiver,
    ):
        return [str(message.message_id) for message in await receiver.peek_messages(100)]


def job(user: str, number: int) -> Job:
    return Job(JobKind.REPLAY, "t", user, str(number))


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://namespace.servicebus.windows.net", None),
        ("sb://", "key"),
        ("namespace.servicebus.windows.net", "key"),
        ("sb://127.0.0.1:5672/queue", "key"),
        ("sb://127.0.0.1:port", "key"),
        ("sb://127.0.0.1:5672", None),
    ],
)
async def test_what_is_no_address_is_refused(url: str, key: str | None) -> None:
    with pytest.raises(ValueError, match=r"^sb://|^https://|^namespace|^Port"):
        async with open_queue(url, key=key):
            pass


@pytest.mark.parametrize("key", [None, "a2V5"])
async def test_nothing_is_sent_before_the_first_call(key: str | None) -> None:
    async with open_queue("sb://namespace.invalid/", key=key):
        pass


async def test_a_host_that_is_not_there_is_unavailable() -> None:
    async with open_queue("sb://namespace.invalid", key="a2V5") as queue:
        for call in (queue.ping(), queue.send(job("u", 1))):
            with pytest.raises(Unavailable):
                await call


async def test_a_queue_that_is_not_there_is_unavailable(broker: ServiceBus) -> None:
    async with open_queue(broker.url, key=broker.key, names={JobKind.REPLAY: "nowhere"}) as queue:
        for call in (queue.ping(), queue.send(job("u", 1))):
            with pytest.raises(Unavailable):
                await call
    gc.collect()


async def test_a_broker_that_hangs_is_unavailable_in_time_and_used_again_when_it_goes_on(
    broker: ServiceBus, queue: MessageQueue, caplog: pytest.LogCaptureFixture
) -> None:
    await queue.send(job("hung", 1))
    pid = broker.child.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        started = asyncio.get_running_loop().time()
        with caplog.at_level(logging.WARNING, "memnet.queue"):
            for call in (queue.send(job("hung", 2)), queue.ping()):
                with pytest.raises(Unavailable):
                    await call
        assert asyncio.get_running_loop().time() - started < 6
    finally:
        os.kill(pid, signal.SIGCONT)
    assert {record.getMessage() for record in caplog.records if record.name == "memnet.queue"} == {
        "service bus: TimeoutError"
    }
    for number in (1, 2, 3):
        await queue.send(job("hung", number))
    assert await sent(broker, "hung") == [f"replay:t/hung:{number}:0" for number in (1, 2, 3)]


async def test_a_caller_that_goes_away_leaves_the_queue_usable(broker: ServiceBus, queue: MessageQueue) -> None:
    for number in range(4):
        task = asyncio.create_task(queue.send(job("gone", number)))
        for _ in range(number * 5):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    for number in range(4):
        await queue.send(job("gone", number))
    assert sorted(await sent(broker, "gone")) == [f"replay:t/gone:{number}:0" for number in range(4)]
