"""The MessageQueue contract, for every backend, each with the other end that takes what was sent."""

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from azure.servicebus import NEXT_AVAILABLE_SESSION, ServiceBusReceivedMessage
from azure.servicebus.aio import ServiceBusClient, ServiceBusReceiver
from azure.servicebus.exceptions import OperationTimeoutError

from local.service_bus_server import CONFIG, ServiceBus
from memnet.adapters.azure.service_bus_queue import open_queue
from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.memory.queue import MemoryQueue
from memnet.domain.errors import Unavailable
from memnet.domain.job import MAX_ID, QUEUES, Job, JobKind, load, message_id, session_id
from memnet.ports import MessageQueue

WAIT = 10.0
A_MOMENT = 0.7
"""Seconds after which nothing more is expected; what is, comes within milliseconds."""

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


class Receivers:
    """The other end of Service Bus: a receiver for each session that has messages."""

    def __init__(self, connection_string: str, names: Mapping[JobKind, str]) -> None:
        self._client = ServiceBusClient.from_connection_string(connection_string, retry_total=0)
        self._names = names
        self._held: dict[tuple[JobKind, str], ServiceBusReceiver] = {}
        self._unsettled: dict[Job, ServiceBusReceivedMessage] = {}

    async def receive(self, kind: JobKind) -> tuple[Job, int] | None:
        busy = {(job.kind, session_id(job)) for job in self._unsettled}
        for (held, session), receiver in self._held.items():
            if held == kind and (kind, session) not in busy and (found := await self._from(receiver, A_MOMENT)):
                return found
        receiver = self._client.get_queue_receiver(
            self._names[kind], session_id=NEXT_AVAILABLE_SESSION, max_wait_time=A_MOMENT
        )
        try:
            await receiver.__aenter__()
        except OperationTimeoutError:
            await receiver.close()
            return None
        self._held[kind, str(receiver.session.session_id)] = receiver
        return await self._from(receiver, WAIT)

    async def _from(self, receiver: ServiceBusReceiver, seconds: float) -> tuple[Job, int] | None:
        for message in await receiver.receive_messages(1, max_wait_time=seconds):
            job = load(b"".join(message.body))
            self._unsettled[job] = message
            attempt = next(n for n in range(10) if message.message_id == message_id(job, n))
            assert (message.session_id, message.content_type) == (session_id(job), "application/json")
            return job, attempt
        return None

    async def complete(self, job: Job) -> None:
        await self._held[job.kind, session_id(job)].complete_message(self._unsettled.pop(job))

    async def abandon(self, job: Job) -> None:
        await self._held[job.kind, session_id(job)].abandon_message(self._unsettled.pop(job))

    async def close(self) -> None:
        await asyncio.gather(*(receiver.close() for receiver in self._held.values()))
        await self._client.close()


class InMemory:
    """The memory adapter, its time and its outages."""

    def __init__(self) -> None:
        self.clock = FrozenClock()
        self.queue = self.received = MemoryQueue(self.clock)

    def now(self) -> datetime:
        return self.clock.now()

    async def pass_time(self) -> None:
        self.clock.advance(timedelta(seconds=1))

    def fail(self) -> None:
        self.queue.available = False

    def recover(self) -> None:
        self.queue.available = True


@dataclass
class OnServiceBus:
    """The Azure adapter with the stand-in."""

    queue: MessageQueue
    received: Receivers
    broker: ServiceBus

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def pass_time(self) -> None:
        """It passes by itself while `receive` waits."""

    def fail(self) -> None:
        self.broker.kill()

    def recover(self) -> None:
        self.broker.start()


Ends = InMemory | OnServiceBus
TESTS = 20
NUMBERS = count()


def names(number: int) -> dict[JobKind, str]:
    """The queues of one test."""
    return {kind: f"{name}-{number}" for kind, name in QUEUES.items()}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceBus]:
    """The product's queues, once for each test."""
    directory = tmp_path_factory.mktemp("service-bus")
    config = json.loads(CONFIG.read_text("utf-8"))
    [namespace] = config["UserConfig"]["Namespaces"]
    namespace["Queues"] = [
        {**queue, "Name": f"{queue['Name']}-{number}"} for queue in namespace["Queues"] for number in range(TESTS)
    ]
    (directory / "Config.json").write_text(json.dumps(config), "utf-8")
    with ServiceBus(log=directory / "log", config=directory / "Config.json") as running:
        yield running


@pytest.fixture(params=["memory", "service_bus"])
async def ends(request: pytest.FixtureRequest) -> AsyncIterator[Ends]:
    """Both ends of an empty queue."""
    if request.param == "memory":
        yield InMemory()
        return
    broker, own = request.getfixturevalue("broker"), names(next(NUMBERS))
    received = Receivers(broker.connection_string, own)
    async with open_queue(broker.url, key=broker.key, names=own) as queue:
        yield OnServiceBus(queue, received, broker)
        await received.close()
    # The SDK (7.15) leaves the sockets of broken connections to the garbage collector: now, not in another's test.
    gc.collect()


def replay(tenant: str, user: str, job_id: str) -> Job:
    return Job(JobKind.REPLAY, tenant, user, job_id)


async def test_what_is_sent_is_received_with_its_attempt(ends: Ends) -> None:
    jobs = [replay("t", "u", "r"), Job(JobKind.CONFLICT, "t", "u", "c"), Job(JobKind.REINDEX, "t", None, "i")]
    for attempt, job in enumerate(jobs):
        await ends.queue.send(job, attempt=attempt)
    for attempt, job in enumerate(jobs):
        assert await ends.received.receive(job.kind) == (job, attempt)
        await ends.received.complete(job)
    assert await ends.received.receive(JobKind.REPLAY) is None


async def test_a_users_jobs_come_in_order_and_one_at_a_time(ends: Ends) -> None:
    first, second, others = replay("t", "a", "2"), replay("t", "a", "1"), replay("t", "b", "3")
    for job in (first, second, others):
        await ends.queue.send(job)
    assert await ends.received.receive(JobKind.REPLAY) == (first, 0)
    assert await ends.received.receive(JobKind.REPLAY) == (others, 0)
    assert await ends.received.receive(JobKind.REPLAY) is None
    await ends.received.complete(others)
    await ends.received.complete(first)
    assert await ends.received.receive(JobKind.REPLAY) == (second, 0)
    await ends.received.complete(second)


async def test_what_is_given_back_is_the_next_of_its_user_again(ends: Ends) -> None:
    first, second = replay("t", "a", "1"), replay("t", "a", "2")
    await ends.queue.send(first)
    await ends.queue.send(second)
    for _ in range(2):
        assert await ends.received.receive(JobKind.REPLAY) == (first, 0)
        await ends.received.abandon(first)
    assert await ends.received.receive(JobKind.REPLAY) == (first, 0)
    await ends.received.complete(first)
    assert await ends.received.receive(JobKind.REPLAY) == (second, 0)
    await ends.received.complete(second)


async def test_the_same_job_and_attempt_is_sent_once(ends: Ends) -> None:
    job, namesake = replay("t", "a", "1"), replay("t", "b", "1")
    for _ in range(2):
        await ends.queue.send(job)
    assert await ends.received.receive(JobKind.REPLAY) == (job, 0)
    await ends.received.complete(job)
    await ends.queue.send(job)
    await ends.queue.send(job, attempt=1)
    await ends.queue.send(namesake)
    assert await ends.received.receive(JobKind.REPLAY) == (job, 1)
    await ends.received.complete(job)
    assert await ends.received.receive(JobKind.REPLAY) == (namesake, 0)
    await ends.received.complete(namesake)
    assert await ends.received.receive(JobKind.REPLAY) is None


async def test_a_job_comes_when_it_is_due_and_lets_others_go_first(ends: Ends) -> None:
    later, sooner = replay("t", "a", "later"), replay("t", "a", "sooner")
    due = ends.now() + timedelta(seconds=3)
    await ends.queue.send(later, attempt=3, due=due)
    await ends.queue.send(sooner, due=ends.now() - timedelta(days=1))
    assert await ends.received.receive(JobKind.REPLAY) == (sooner, 0)
    await ends.received.complete(sooner)
    assert ends.now() < due
    while (found := await ends.received.receive(JobKind.REPLAY)) is None:
        await ends.pass_time()
    assert (found, ends.now() >= due) == ((later, 3), True)
    await ends.received.complete(later)


async def test_ids_may_be_as_long_as_the_identifiers_of_memnet(ends: Ends) -> None:
    jobs = [replay("t" * 128, "u" * 128, "j" * 128), replay("t" * 128, "u" * 128, "j" * 127)]
    assert max(len(text) for job in jobs for text in (message_id(job, 0), session_id(job))) <= MAX_ID
    for job in jobs:
        await ends.queue.send(job)
        await ends.queue.send(job)
    for job in jobs:
        assert await ends.received.receive(JobKind.REPLAY) == (job, 0)
        await ends.received.complete(job)
    assert await ends.received.receive(JobKind.REPLAY) is None


async def test_many_may_send_at_once(ends: Ends) -> None:
    jobs = [replay("t", "a", str(number)) for number in range(30)]
    await asyncio.gather(*(ends.queue.send(job) for job in [*jobs, *jobs]), ends.queue.ping())
    found = set()
    for _ in jobs:
        received = await ends.received.receive(JobKind.REPLAY)
        assert received is not None
        found.add(received[0])
        await ends.received.complete(received[0])
    assert found == set(jobs)
    assert await ends.received.receive(JobKind.REPLAY) is None


async def test_a_broker_that_is_away_is_unavailable_and_nothing_is_doubled_when_it_is_back(ends: Ends) -> None:
    jobs = [replay("t", "u", str(number)) for number in range(3)]
    await ends.queue.ping()
    ends.fail()
    for call in (ends.queue.ping(), ends.queue.send(jobs[0]), ends.queue.send(jobs[1], due=ends.now())):
        with pytest.raises(Unavailable) as refused:
            await call
        assert refused.value.details == {"dependency": "service_bus"}
    ends.recover()
    for job in [*jobs, *jobs]:
        await ends.queue.send(job)
    await ends.queue.ping()
    for job in jobs:
        assert await ends.received.receive(JobKind.REPLAY) == (job, 0)
        await ends.received.complete(job)
    assert await ends.received.receive(JobKind.REPLAY) is None
