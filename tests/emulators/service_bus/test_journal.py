"""The journal alone: queues that are opened again are as they were, but for the locks."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from uuid import UUID

import pytest

from local.emulators.service_bus.broker import Broker
from local.emulators.service_bus.changes import Kept
from local.emulators.service_bus.errors import RefusedError
from local.emulators.service_bus.journal import Journal
from local.emulators.service_bus.messages import Message
from local.emulators.service_bus.options import QueueOptions
from local.emulators.service_bus.queues import Queue
from tests.emulators.service_bus.clock import START, content, taken, text, token

OPTIONS = {
    "Plain": QueueOptions(max_deliveries=2),
    "once": QueueOptions(duplicate_window=600),
    "sessions": QueueOptions(sessions=True),
}


class Disk:
    """A broker on disk that can be opened again and again."""

    def __init__(self, directory: Path) -> None:
        self.now = START
        self._directory = directory
        self._tokens = (UUID(int=number) for number in count(1))
        self._open()

    def _open(self) -> None:
        self._journal = Journal(self._directory)
        self.broker = Broker(OPTIONS, self._journal, clock=lambda: self.now, new_token=lambda: next(self._tokens))

    def queue(self, name: str) -> Queue:
        return self.broker.find(name)

    def kept(self, name: str) -> Kept:
        return self._journal.load(name)

    def reopen(self, *, commit: bool = True) -> None:
        if commit:
            self.broker.commit()
        self._journal.close()
        self._open()

    def close(self) -> None:
        self._journal.close()

    def tick(self, seconds: float) -> None:
        self.now += seconds
        for queue in self.broker.queues():
            queue.tick()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    opened = Disk(tmp_path)
    yield opened
    opened.close()


def unlocked(messages: list[Message]) -> list[Message]:
    return [replace(message, lock=None) for message in messages]


def test_messages_are_as_they_were_but_free(disk: Disk) -> None:
    queue = disk.queue("plain")
    sent = content(
        "full", header=b"h", annotations=b"a", message_id="m", session_id="s", seconds_to_live=50, due_at=START + 5
    )
    queue.accept([content("locked"), content("tried"), content("aside"), content("dead"), content("gone"), sent])
    disk.broker.commit()
    messages = [queue.take() for _ in range(5)]
    queue.abandon(token(messages[1]))
    queue.defer(token(messages[2]))
    queue.bury(token(messages[3]), "why", None)
    queue.complete(token(messages[4]))
    before = unlocked(queue.peek(0, 10)), unlocked(disk.queue("plain/$deadletterqueue").peek(0, 10))
    disk.reopen()
    queue = disk.queue("plain")
    assert (queue.peek(0, 10), disk.queue("plain/$deadletterqueue").peek(0, 10)) == before
    assert [text(message) for message in before[0]] == ["locked", "tried", "aside", "full"]
    with pytest.raises(RefusedError):
        queue.complete(token(messages[0]))
    assert taken(queue) == ["locked", "tried"]


def test_time_passes_for_stored_messages(disk: Disk) -> None:
    disk.queue("plain").accept([content("later", due_at=START + 10), content("brief", seconds_to_live=20)])
    disk.reopen()
    assert taken(disk.queue("plain")) == ["brief"]
    disk.reopen()
    disk.tick(10)
    disk.reopen()
    [brief, later] = disk.queue("plain").peek(0, 10)
    assert (text(brief), text(later), later.sequence, later.first_sequence) == ("brief", "later", 3, 1)
    disk.tick(10)
    disk.reopen()
    assert taken(disk.queue("plain")) == ["later"]


def test_no_number_is_given_twice(disk: Disk) -> None:
    assert disk.queue("plain").accept([content("a"), content("b")]) == [1, 2]
    for _ in range(2):
        disk.queue("plain").take(lock=False)
    disk.reopen()
    assert disk.queue("plain").accept([content("c")]) == [3]


def test_ids_are_remembered_for_the_rest_of_the_window(disk: Disk) -> None:
    disk.queue("once").accept([content("a", message_id="1"), content("z", message_id="0")])
    disk.tick(300)
    disk.queue("once").accept([content("b", message_id="2")])
    disk.reopen()
    disk.tick(299)
    assert disk.queue("once").accept([content("c", message_id="1"), content("d", message_id="2")]) == [0, 0]
    disk.tick(1)
    assert disk.queue("once").accept([content("e", message_id="1"), content("f", message_id="2")]) == [4, 0]
    disk.reopen()
    assert disk.kept("once").remembered == [("2", START + 300), ("1", START + 600)]
    assert disk.queue("once").accept([content("g", message_id="1"), content("h", message_id="2")]) == [0, 0]


def test_sessions_have_no_holder(disk: Disk) -> None:
    queue = disk.queue("sessions")
    queue.accept([content("a", session_id="s")])
    queue.accept_session("s", "holder")
    disk.reopen()
    assert disk.queue("sessions").accept_session(None, "other") == ("s", START + 60)


def test_what_was_not_committed_did_not_happen(disk: Disk) -> None:
    disk.queue("plain").accept([content("a")])
    disk.broker.commit()
    disk.queue("plain").accept([content("b")])
    disk.queue("plain").complete(token(disk.queue("plain").take()))
    disk.reopen(commit=False)
    assert taken(disk.queue("plain")) == ["a"]
