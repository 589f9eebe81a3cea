"""Acknowledged changes are on disk: they survive a kill and a restart of the broker."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from azure.servicebus import ServiceBusClient, ServiceBusMessageState
from azure.servicebus.exceptions import ServiceBusError

from local.stack.service_bus_server import ServiceBus
from tests.emulators.service_bus.bus import KINDS, WAIT, message, take, texts, write_config

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[ServiceBus]:
    config = write_config(tmp_path / "Config.json", KINDS)
    with ServiceBus(log=tmp_path / "log", directory=tmp_path / "data", config=config) as running:
        yield running
    # The SDK (7.15) leaves the sockets of broken connections to the garbage collector: now, not in another's test.
    gc.collect()


@contextmanager
def connected(broker: ServiceBus) -> Iterator[ServiceBusClient]:
    with ServiceBusClient.from_connection_string(broker.connection_string, retry_total=0) as client:
        yield client


def restart(broker: ServiceBus) -> None:
    broker.kill()
    broker.start()


def test_killed_after_the_answer_and_nothing_is_lost_or_undone(broker: ServiceBus) -> None:
    due = datetime.now(UTC) + timedelta(hours=1)
    with connected(broker) as client, client.get_queue_sender("plain") as sender:
        sender.send_messages([message(text) for text in ("done", "buried", "aside", "tried", "locked")])
        [scheduled, cancelled] = sender.schedule_messages([message("later"), message("never")], due)
        sender.cancel_scheduled_messages(cancelled)
        with client.get_queue_receiver("plain") as receiver:
            done, buried, aside, tried, _locked = take(receiver, 5)
            receiver.complete_message(done)
            receiver.dead_letter_message(buried, reason="Why", error_description="because")
            receiver.defer_message(aside)
            receiver.abandon_message(tried)
            restart(broker)
    with connected(broker) as client, client.get_queue_receiver("plain", max_wait_time=WAIT) as receiver:
        peeked = {texts([found])[0]: found for found in receiver.peek_messages(10)}
        assert {text: found.state for text, found in peeked.items()} == {
            "aside": ServiceBusMessageState.DEFERRED,
            "tried": ServiceBusMessageState.ACTIVE,
            "locked": ServiceBusMessageState.ACTIVE,
            "later": ServiceBusMessageState.SCHEDULED,
        }
        assert peeked["later"].sequence_number == scheduled
        tried, locked = take(receiver, 2)
        assert [(got.delivery_count, *texts([got])) for got in (tried, locked)] == [(1, "tried"), (0, "locked")]
        [got] = receiver.receive_deferred_messages([aside.sequence_number or 0])
        for settled in (tried, locked, got):
            receiver.complete_message(settled)
        with client.get_queue_receiver("plain", sub_queue="deadletter", max_wait_time=WAIT) as dead:
            [found] = take(dead, 1)
            assert (found.dead_letter_reason, found.dead_letter_error_description) == ("Why", "because")
            dead.complete_message(found)
            restart(broker)
    with connected(broker) as client, client.get_queue_sender("plain") as sender:
        [number] = sender.schedule_messages([message("new")], due)
        assert number > scheduled
        with client.get_queue_receiver("plain") as receiver:
            assert texts(receiver.peek_messages(10)) == ["later", "new"]
        with client.get_queue_receiver("plain", sub_queue="deadletter") as dead:
            assert dead.peek_messages(10) == []


class Traffic:
    """Sends and receives on a queue of its own until the broker is gone; knows what was answered."""

    def __init__(self, broker: ServiceBus) -> None:
        self.accepted: list[int] = []
        self.completed: list[int] = []
        self.underway = threading.Event()
        self._broker = broker
        self._threads = [threading.Thread(target=work) for work in (self._send, self._receive)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(60)

    def _send(self) -> None:
        with (
            connected(self._broker) as client,
            client.get_queue_sender("plain") as sender,
            suppress(ServiceBusError),
        ):
            for number in count():
                sender.send_messages(message(str(number)))
                self.accepted.append(number)

    def _receive(self) -> None:
        with (
            connected(self._broker) as client,
            client.get_queue_receiver("plain", max_wait_time=WAIT) as receiver,
            suppress(ServiceBusError),
        ):
            while True:
                for got in receiver.receive_messages():
                    receiver.complete_message(got)
                    self.completed += map(int, texts([got]))
                    if len(self.completed) > 20:
                        self.underway.set()


def everything(broker: ServiceBus) -> list[int]:
    """What is in the queue, by peeking."""
    found: list[int] = []
    position = 0
    with connected(broker) as client, client.get_queue_receiver("plain") as receiver:
        while batch := receiver.peek_messages(250, sequence_number=position):
            found += map(int, texts(batch))
            position = (batch[-1].sequence_number or 0) + 1
    return found


def test_killed_in_the_middle_of_everything_and_every_answer_holds(broker: ServiceBus) -> None:
    traffic = Traffic(broker)
    traffic.start()
    assert traffic.underway.wait(60)
    broker.kill()
    traffic.join()
    broker.start()
    left = everything(broker)
    assert left == sorted(set(left))
    assert not set(left) & set(traffic.completed)
    unanswered = traffic.completed[-1] + 1  # completed perhaps, though its answer did not come back
    assert set(traffic.accepted) - {*left, *traffic.completed} <= {unanswered}
