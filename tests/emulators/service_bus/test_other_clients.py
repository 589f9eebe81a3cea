"""Clients other than the SDK: the emulator refuses an invalid request and keeps serving."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from proton import Data, Described, Message, symbol, ulong
from proton.reactor import Filter, LinkOption
from proton.utils import BlockingConnection, BlockingReceiver, LinkDetached, SendException

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
        section(0x70, {"a": 1}) + section(0x77, "x"),
        section(0x72, {symbol("x-opt-scheduled-enqueue-time"): "soon"}) + section(0x77, "x"),
        section(0x70, [True, 4, "long"]) + section(0x77, "x"),
    ],
)
def test_what_is_no_message_is_rejected(bus: Bus, connection: BlockingConnection, payload: bytes) -> None:
    with pytest.raises(SendException):
        connection.create_sender("plain-19").send(Raw(payload))  # type: ignore[arg-type]
    assert is_well(bus)


@pytest.mark.parametrize(
    ("properties", "body"),
    [
        ({}, None),
        ({"operation": "com.microsoft:erase"}, {}),
        ({"operation": "com.microsoft:renew-lock"}, {"lock-tokens": 7}),
        ({"operation": "com.microsoft:renew-session-lock"}, {"session-id": None}),
        ({"operation": "com.microsoft:schedule-message"}, {"messages": [{"message": b"\xff"}]}),
    ],
)
def test_a_request_that_cannot_be_carried_out_is_answered_so(
    connection: BlockingConnection, properties: dict[str, Any], body: Any
) -> None:
    address = "plain-19/$management"
    answers = connection.create_receiver(address)
    request = Message(body=body, properties=properties, id="1", reply_to=address)
    connection.create_sender(address).send(request)
    answer = received(answers)
    assert answer.correlation_id == "1"
    assert answer.properties["statusCode"] >= 400
    assert ":" in answer.properties["errorCondition"]


def test_a_request_with_a_body_that_is_no_map_is_rejected(bus: Bus, connection: BlockingConnection) -> None:
    address = "plain-19/$management"
    connection.create_receiver(address)
    with pytest.raises(SendException):
        connection.create_sender(address).send(Message(body="text", properties={"operation": "x"}))
    assert is_well(bus)


class Waits(LinkOption):
    """Asks for a session with a waiting time that is none."""

    def apply(self, link: Any) -> None:
        link.properties = {symbol("com.microsoft:timeout"): "long"}


@pytest.mark.parametrize(
    "address", ["", "nowhere", "plain-19/nowhere", "plain-19/$DeadLetterQueue/x", "nowhere/$management"]
)
def test_an_address_that_is_none_is_refused(connection: BlockingConnection, address: str) -> None:
    with pytest.raises(LinkDetached, match="not-found"):
        connection.create_sender(address)


def test_a_session_is_asked_for_in_the_right_way(connection: BlockingConnection) -> None:
    anything: Any = None
    wants_next = Filter({symbol("com.microsoft:session-filter"): anything})
    with pytest.raises(LinkDetached, match="argument-error"):
        connection.create_receiver("sessions-19", name="first", options=[wants_next, Waits()])
    with pytest.raises(LinkDetached, match="not-allowed"):
        connection.create_receiver("sessions-19", name="second")


@pytest.mark.parametrize(
    "sent", [b"GET / HTTP/1.1\r\n\r\n", b"AMQP\x00\x01\x00\x00" + b"\x00\x00\x00\x09\x02\x00\x00\x00\xff"]
)
def test_a_client_without_amqp_disturbs_no_other(bus: Bus, sent: bytes) -> None:
    port = int(bus.broker.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=60) as opened:
        opened.sendall(sent)
        assert opened.recv(4096).startswith(b"AMQP")
    assert is_well(bus)
