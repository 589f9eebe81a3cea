"""The unchanged SDK on queues with sessions."""

from datetime import UTC, datetime, timedelta

import pytest
from azure.servicebus import NEXT_AVAILABLE_SESSION, AutoLockRenewer, ServiceBusMessageState
from azure.servicebus.exceptions import (
    MessageNotFoundError,
    OperationTimeoutError,
    SessionCannotBeLockedError,
)

from tests.emulators.service_bus.bus import Bus, message, take, texts


def now() -> datetime:
    return datetime.now(UTC)


def test_a_session_is_one_receivers_and_in_order(bus: Bus) -> None:
    queue = bus.queue("sessions")
    bus.sender(queue).send_messages([message(f"{s}{n}", session_id=s) for n in range(3) for s in "ab"])
    first = bus.receiver(queue, session_id="a")
    mine = take(first, 3)
    assert texts(mine) == ["a0", "a1", "a2"]
    assert {got.session_id for got in mine} == {"a"}
    with pytest.raises(SessionCannotBeLockedError), bus.client.get_queue_receiver(queue, session_id="a") as other:
        other.receive_messages()
    second = bus.receiver(queue, session_id=NEXT_AVAILABLE_SESSION)
    assert texts(take(second, 3)) == ["b0", "b1", "b2"]
    assert second.session.session_id == "b"
    for got in mine:
        first.complete_message(got)
    assert first.peek_messages(10, sequence_number=1) == []


def test_a_waiting_receiver_gets_the_session_that_comes(bus: Bus) -> None:
    queue = bus.queue("sessions")
    sender = bus.sender(queue)
    due = now() + timedelta(seconds=1)
    sender.send_messages(message("later", session_id="s", scheduled_enqueue_time_utc=due))
    assert texts(take(bus.receiver(queue, session_id=NEXT_AVAILABLE_SESSION), 1)) == ["later"]
    assert now() >= due


def test_waiting_for_a_session_ends(bus: Bus) -> None:
    queue = bus.queue("sessions")
    with (
        pytest.raises(OperationTimeoutError),
        bus.client.get_queue_receiver(queue, session_id=NEXT_AVAILABLE_SESSION, max_wait_time=1) as receiver,
    ):
        receiver.receive_messages()


def test_a_session_is_renewed_by_hand_and_by_the_sdk(bus: Bus) -> None:
    queue = bus.queue("short-sessions")
    sender = bus.sender(queue)
    sender.send_messages([message(text, session_id=text) for text in "ab"])
    by_hand, by_itself = bus.receiver(queue, session_id="a"), bus.receiver(queue, session_id="b")
    with AutoLockRenewer() as renewer:
        [a], [b] = take(by_hand, 1), take(by_itself, 1)
        renewer.register(by_itself, by_itself.session, max_lock_renewal_duration=20)
        started = now()
        while now() < started + timedelta(seconds=2):
            assert by_hand.session.renew_lock() > now()
        by_hand.complete_message(a)
        by_itself.complete_message(b)


def test_a_session_shows_all_of_its_own_and_what_is_scheduled_is_cancelled_by_the_number_shown(bus: Bus) -> None:
    queue, due = bus.queue("sessions"), now() + timedelta(hours=1)
    sender = bus.sender(queue)
    sender.send_messages([message(f"{text}{s}", session_id=s) for text in ("deferred", "active") for s in "ab"])
    sender.send_messages([message(f"later{s}", session_id=s, scheduled_enqueue_time_utc=due) for s in "ab"])
    receiver = bus.receiver(queue, session_id="a")
    [got] = take(receiver, 1)
    receiver.defer_message(got)
    shown = receiver.peek_messages(10, sequence_number=1)
    states = ServiceBusMessageState
    assert [(str(one), one.state) for one in shown] == [
        ("deferreda", states.DEFERRED),
        ("activea", states.ACTIVE),
        ("latera", states.SCHEDULED),
    ]
    numbers = [one.sequence_number or 0 for one in shown]
    for number in (numbers[1], numbers[2] + 100):
        with pytest.raises(MessageNotFoundError):
            sender.cancel_scheduled_messages(number)
    sender.cancel_scheduled_messages(numbers[2])
    with pytest.raises(MessageNotFoundError):
        sender.cancel_scheduled_messages(numbers[2])
    assert [one.sequence_number for one in receiver.peek_messages(10, sequence_number=1)] == numbers[:2]
    assert texts(bus.receiver(queue, session_id="b").peek_messages(10)) == ["deferredb", "activeb", "laterb"]
