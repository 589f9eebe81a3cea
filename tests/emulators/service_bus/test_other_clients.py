"""Clients other than the SDK: the emulator refuses an invalid request and keeps serving."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from proton import Data, Described, Message, symbol, ulong
from proton.utils import BlockingConnection, BlockingReceiver, SendException

from tests.emulators.service_bus.bus import Bus, message, take, texts


@pytest.fixture
def connection(bus: Bus) -> Iterator[BlockingConnection]:
    opened = BlockingConnection(bus.broker.url.replace("sb://", "amqp://"), timeout=60)
    yield opened
    opened.close()


def is_well(bus: Bus) -> bool:
    """Return whether the broker still serves others."""
    queue = bus.queue("plain")
    bus.sender(queue).send_messages(message("x"))
    return texts(take(bus.receiver(queue), 1)) == ["x"]


class Raw:
    """A payload as it is, where proton expects a message."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload

    def send(self, sender: Any, tag: Any = None) -> Any:
        delivery = sender.delivery(tag or "t")
        sender.stream(self._payload)
        sender.advance()
        return delivery


def received(receiver: BlockingReceiver) -> Any:
    """The next message; a body has any type."""
    return receiver.receive(10)


def section(code: int, value: Any) -> bytes:
    data = Data()
    data.put_object(Described(ulong(code), value))
    return bytes(data.encode())


def test_an_ordinary_client_sends_and_receives(bus: Bus, connection: BlockingConnection) -> None:
    queue = bus.queue("plain")
    connection.create_sender(queue).send(Message(body="text", properties={"a": 1}))
    receiver = connection.create_receiver(queue)
    got = received(receiver)
    assert (got.body, got.properties, got.delivery_count) == ("text", {"a": 1}, 0)
    receiver.release()
    assert received(receiver).delivery_count == 1  # modified with delivery-failed, which is to abandon
    receiver.release(delivered=False)
    assert received(receiver).delivery_count == 1
    receiver.accept()
    receiver.close()  # type: ignore[no-untyped-call]
    assert bus.receiver(queue).peek_messages(10) == []


@pytest.mark.parametrize(
    "payload",
    [
        b"\x00",
        section(0x72, {symbol("x-opt-scheduled-enqueue-time"): "soon"}) + section(0x77, "x"),
    ],
)
def test_what_is_no_message_is_rejected(bus: Bus, connection: BlockingConnection, payload: bytes) -> None:
    with pytest.raises(SendException):
        connection.create_sender("plain-19").send(Raw(payload))  # type: ignore[arg-type]
    assert is_well(bus)


@pytest.mark.parametrize(
    "sent", [b"GET / HTTP/1.1\r\n\r\n", b"AMQP\x00\x01\x00\x00" + b"\x00\x00\x00\x09\x02\x00\x00\x00\xff"]
)
def test_a_client_without_amqp_disturbs_no_other(bus: Bus, sent: bytes) -> None:
    port = int(bus.broker.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=60) as opened:
        opened.sendall(sent)
        assert opened.recv(4096).startswith(b"AMQP")
    assert is_well(bus)
