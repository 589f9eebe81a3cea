"""The local Functions host: real runtime, real SDK, the broker's emulator, each in a process of its own."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from azure.servicebus import ServiceBusMessage, ServiceBusReceivedMessage, ServiceBusSubQueue
from azure.servicebus.aio import ServiceBusClient

from local.emulators.functions.host_options import HostError
from local.emulators.functions.indexed_app import IndexedApp, IndexedFunction
from local.emulators.functions.timers import Timer
from local.stack.service_bus_server import ServiceBus
from local.stack.worker_host import WorkerHost

APP = Path(__file__).parent / "functions_app"
LOCK_SECONDS = 4.0
SECONDS = 180.0


@pytest.fixture(scope="module")
def bus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceBus]:
    log = tmp_path_factory.mktemp("service-bus") / "log"
    with ServiceBus(log=log, config=APP / "Config.json", lock_seconds=LOCK_SECONDS) as running:
        yield running


@dataclass
class World:
    """A host, what its app has written down, and a client of the broker."""

    bus: ServiceBus
    directory: Path

    def host(self, name: str = "host", **settings: str) -> WorkerHost:
        environment = {
            "TRACE": str(self.trace_file),
            "BUS": self.bus.connection_string,
            "SESSIONS_QUEUE": "sessions",
            **settings,
        }
        return WorkerHost(name, environment=environment, log=self.directory / f"{name}.log", app=APP)

    @property
    def trace_file(self) -> Path:
        return self.directory / "trace"

    def trace(self, *at: str) -> list[dict[str, Any]]:
        """The lines of these kinds so far, in the order in which they were written."""
        text = self.trace_file.read_text("utf-8") if self.trace_file.exists() else ""
        lines = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
        return [line for line in lines if line["at"] in at]

    async def until(self, ready: Callable[[], object | Awaitable[object]]) -> None:
        async with asyncio.timeout(SECONDS):
            while True:
                found = ready()
                if await found if isinstance(found, Awaitable) else found:
                    return
                await asyncio.sleep(0.05)

    def client(self) -> ServiceBusClient:
        return ServiceBusClient.from_connection_string(self.bus.connection_string)

    async def send(self, queue: str, *messages: ServiceBusMessage) -> None:
        async with self.client() as client, client.get_queue_sender(queue) as sender:
            for message in messages:
                await sender.send_messages(message)

    async def take(self, queue: str, sub_queue: ServiceBusSubQueue | None = None) -> ServiceBusReceivedMessage:
        async with self.client() as client, client.get_queue_receiver(queue, sub_queue=sub_queue) as receiver:
            [message] = await receiver.receive_messages(1, max_wait_time=SECONDS)
            await receiver.complete_message(message)
            return message


@pytest.fixture
def world(bus: ServiceBus, tmp_path: Path) -> World:
    return World(bus, tmp_path)


def message(session: str, number: int, **more: object) -> ServiceBusMessage:
    return ServiceBusMessage(json.dumps({"number": number, **more}), session_id=session)


async def test_sessions_run_side_by_side_and_each_one_in_order(world: World) -> None:
    with world.host() as host:
        sent = [message(f"user-{number % 3}", number, seconds=0.3) for number in range(9)]
        await world.send("sessions", *sent)
        await world.until(lambda: len(world.trace("end")) == 9)
        assert host.functions()["sessions"]["failures"] == 0
    lines = world.trace("begin", "end")
    for user in range(3):
        own = [(line["at"], line["number"]) for line in lines if line["session"] == f"user-{user}"]
        assert own == [(at, number) for number in range(user, 9, 3) for at in ("begin", "end")]
    running = [1 if line["at"] == "begin" else -1 for line in lines]
    assert max(sum(running[: count + 1]) for count in range(len(running))) > 1


async def test_the_app_is_given_what_the_extension_gives(world: World) -> None:
    with world.host():
        told = ServiceBusMessage(
            json.dumps({"number": 1}), session_id="s", message_id="m-1", application_properties={"attempt": 2}
        )
        await world.send("sessions", told)
        await world.until(lambda: world.trace("end"))
        await world.send("plain", ServiceBusMessage("words"))
        await world.until(lambda: world.trace("plain"))
    [begun] = world.trace("begin")
    assert (begun["message_id"], begun["session"], begun["delivery"]) == ("m-1", "s", 1)
    assert begun["properties"] == {"attempt": 2}
    assert world.trace("plain") == [{"at": "plain", "body": "words", "session": ""}]


async def test_a_long_job_keeps_its_session_locked(world: World) -> None:
    """Longer than the lock: without its renewal the second host would be given the message, too."""
    with world.host("first") as first, world.host("second") as second:
        await world.send("sessions", message("long", 1, seconds=LOCK_SECONDS * 1.5), message("long", 2))
        await world.until(lambda: len(world.trace("end")) == 2)
        assert [(line["at"], line["number"]) for line in world.trace("begin", "end")] == [
            ("begin", 1),
            ("end", 1),
            ("begin", 2),
            ("end", 2),
        ]
        assert first.functions()["sessions"]["failures"] + second.functions()["sessions"]["failures"] == 0


async def test_a_message_that_keeps_failing_is_dead_lettered_and_blocks_no_other(world: World) -> None:
    with world.host() as host:
        await world.send("sessions", message("a", 1, fail=True), message("a", 2), message("b", 3))
        await world.until(lambda: len(world.trace("end")) == 2)
        buried = await world.take("sessions", ServiceBusSubQueue.DEAD_LETTER)
        counts = host.functions()["sessions"]
    assert (counts["failures"], counts["last_error"]) == (3, "RuntimeError")
    assert [line["delivery"] for line in world.trace("begin") if line["number"] == 1] == [1, 2, 3]
    assert json.loads(b"".join(buried.body))["number"] == 1
    assert buried.dead_letter_reason == "MaxDeliveryCountExceeded"
    assert "xyzzy" not in (world.directory / "host.log").read_text("utf-8")


async def test_an_output_is_sent_and_the_message_completed(world: World) -> None:
    with world.host():
        await world.send("sessions", message("a", 1, refuse=True), message("a", 2))
        refused = await world.take("refused")
        await world.until(lambda: world.trace("end"))
    assert json.loads(b"".join(refused.body)) == {"reason": "refused", "number": 1}
    assert [line["number"] for line in world.trace("begin")] == [1, 2]


async def test_a_killed_host_loses_nothing(world: World) -> None:
    with world.host("doomed") as doomed:
        await world.send("sessions", message("a", 1, seconds=60), message("a", 2))
        await world.until(lambda: world.trace("begin"))
        doomed.kill()
    world.trace_file.unlink()
    assert world.trace() == []
    with world.host("heir") as heir:
        await world.until(lambda: world.trace("begin"))
        assert world.trace("begin")[0]["number"] == 1
        heir.kill()
    # What is left of this test must not meet the next one.
    async with world.client() as client:
        await drain(client, "sessions", "a", 2)


async def drain(client: ServiceBusClient, queue: str, session: str, count: int) -> None:
    async with client.get_queue_receiver(queue, session_id=session) as receiver:
        for _ in range(count):
            [left] = await receiver.receive_messages(1, max_wait_time=SECONDS)
            await receiver.complete_message(left)


async def test_a_host_outlives_its_broker(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with ServiceBus(log=tmp_path / "bus.log", directory=data, config=APP / "Config.json") as bus:
        world = World(bus, tmp_path)
        with world.host() as host:
            await world.send("sessions", message("a", 1))
            await world.until(lambda: len(world.trace("end")) == 1)
            bus.kill()
            bus.start()
            await world.send("sessions", message("a", 2))
            await world.until(lambda: len(world.trace("end")) == 2)
            assert host.child.ended() is None


async def test_sigterm_lets_a_job_end_and_takes_no_other(world: World) -> None:
    with world.host() as host:
        await world.send("sessions", message("a", 1, seconds=2), message("a", 2))
        await world.until(lambda: world.trace("begin"))
        assert await asyncio.to_thread(host.child.stop, seconds=SECONDS) == 0
    assert [(line["at"], line["number"]) for line in world.trace("begin", "end")] == [("begin", 1), ("end", 1)]
    with world.host("next"):
        await world.until(lambda: len(world.trace("end")) == 2)
    assert [line["number"] for line in world.trace("begin")] == [1, 2]


async def test_timers_fire_by_their_schedule_at_once_on_demand_and_never_overlap(world: World) -> None:
    with world.host(TICK_SECONDS="1.5") as host:
        await world.until(lambda: len(world.trace("tick")) >= 2)
        assert len(world.trace("nightly")) == 1  # run_on_startup
        host.fire("nightly")
        await world.until(lambda: len(world.trace("nightly")) == 2)
        with pytest.raises(KeyError):
            host.fire("sessions")
    # One after the other, and the last one was let end.
    order = [line["at"] for line in world.trace("tick", "tock")]
    assert order == ["tick", "tock"] * (len(order) // 2)


async def test_a_disabled_function_does_not_run(world: World) -> None:
    off = {"AzureWebJobs.nightly.Disabled": "true", "AzureWebJobs_sessions_Disabled": "1"}
    with world.host(TICK_SECONDS="0.1", **off) as host:
        await world.until(lambda: bool(world.trace("tick")))
        assert world.trace("nightly") == []
        with pytest.raises(KeyError):
            host.fire("nightly")


def test_a_timer_knows_when_it_is_due() -> None:
    function = IndexedFunction("nightly", "id", {"name": "timer", "schedule": "%WHEN%"}, ())
    timer = Timer(IndexedApp(APP), function, {"WHEN": "30 5 3 * * 1"})
    assert timer.next_after(datetime(2026, 11, 22, 12, tzinfo=UTC)) == datetime(2026, 11, 23, 3, 5, 30, tzinfo=UTC)


@pytest.mark.parametrize("schedule", ["* * * * *", "61 * * * * *"])
def test_a_schedule_that_is_none_stops_the_start(schedule: str) -> None:
    function = IndexedFunction("nightly", "id", {"name": "timer", "schedule": schedule}, ())
    with pytest.raises(HostError, match="nightly"):
        Timer(IndexedApp(APP), function, {})
