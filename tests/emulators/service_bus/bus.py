"""Many queues of each kind in one broker, and the SDK's synchronous client, whose links are closed all at once."""

import json
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

from azure.servicebus import (
    ServiceBusClient,
    ServiceBusMessage,
    ServiceBusReceivedMessage,
    ServiceBusReceiver,
    ServiceBusSender,
)

from local.stack.service_bus_server import ServiceBus

KINDS: dict[str, dict[str, Any]] = {
    "plain": {"LockDuration": "PT30S", "MaxDeliveryCount": 3},
    "short": {"LockDuration": "PT1S", "MaxDeliveryCount": 3},
    "once": {"RequiresDuplicateDetection": True, "DuplicateDetectionHistoryTimeWindow": "PT1M"},
    "sessions": {"RequiresSession": True, "LockDuration": "PT30S", "MaxDeliveryCount": 3},
    "short-sessions": {"RequiresSession": True, "LockDuration": "PT1S", "MaxDeliveryCount": 3},
}
EACH = 20
WAIT = 10
"""Seconds to wait for what will come; nothing waits as long."""


def write_config(path: Path, queues: dict[str, dict[str, Any]]) -> Path:
    """Write the file that the broker reads; return its path."""
    listed = [{"Name": name, "Properties": properties} for name, properties in queues.items()]
    path.write_text(json.dumps({"UserConfig": {"Namespaces": [{"Name": "tests", "Queues": listed}]}}), "utf-8")
    return path


class Bus:
    """A running broker, and a client of it."""

    def __init__(self, directory: Path) -> None:
        queues = {f"{kind}-{number}": options for kind, options in KINDS.items() for number in range(EACH)}
        config = write_config(directory / "Config.json", queues)
        self.broker = ServiceBus(log=directory / "service-bus.log", config=config)
        self._used: Counter[str] = Counter()
        self._links: list[ServiceBusSender | ServiceBusReceiver] = []

    def __enter__(self) -> "Bus":
        self.broker.__enter__()
        self.client = ServiceBusClient.from_connection_string(self.broker.connection_string, retry_total=0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # To close one takes up to a second, and almost all of it is waiting.
        with ThreadPoolExecutor(32) as pool:
            list(pool.map(lambda link: link.close(), self._links))
        self.client.close()
        self.broker.close()

    def queue(self, kind: str) -> str:
        """The name of an unused queue of this kind."""
        self._used[kind] += 1
        assert self._used[kind] <= EACH
        return f"{kind}-{self._used[kind] - 1}"

    def sender(self, queue: str) -> ServiceBusSender:
        """A sender that is closed at the end."""
        sender = self.client.get_queue_sender(queue)
        self._links.append(sender)
        return sender

    def receiver(self, queue: str, **options: Any) -> ServiceBusReceiver:
        """A receiver that is closed at the end."""
        receiver = self.client.get_queue_receiver(queue, **{"max_wait_time": WAIT, **options})
        self._links.append(receiver)
        return receiver

    def dead_letters(self, queue: str) -> ServiceBusReceiver:
        """A receiver of the dead letters."""
        return self.receiver(queue, sub_queue="deadletter")


def message(text: str, **options: Any) -> ServiceBusMessage:
    return ServiceBusMessage(text, **options)


def body(received: ServiceBusReceivedMessage) -> bytes:
    return b"".join(received.body)


def take(receiver: ServiceBusReceiver, count: int) -> list[ServiceBusReceivedMessage]:
    """Receive exactly so many."""
    found: list[ServiceBusReceivedMessage] = []
    while len(found) < count:
        batch = receiver.receive_messages(count - len(found))
        assert batch, f"{len(found)} of {count} messages came"
        found += batch
    return found


def texts(messages: Iterable[ServiceBusReceivedMessage]) -> list[str]:
    return [body(received).decode() for received in messages]
