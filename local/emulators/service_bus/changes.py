"""What an operation on a queue changed, in order: written down as one before the operation is acknowledged."""

from dataclasses import dataclass

from local.emulators.service_bus.messages import Message


@dataclass(frozen=True, slots=True)
class Put:
    """A message is new or has changed."""

    queue: str
    message: Message


@dataclass(frozen=True, slots=True)
class Removed:
    """A message is gone."""

    queue: str
    sequence: int


@dataclass(frozen=True, slots=True)
class Remembered:
    """A message id was seen."""

    queue: str
    message_id: str
    at: float


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The ids that were seen up to a time are no longer known."""

    queue: str
    until: float


Change = Put | Removed | Remembered | Forgotten


@dataclass(frozen=True, slots=True)
class Kept:
    """The stored state of one queue, without locks."""

    last_sequence: int
    messages: list[Message]
    """In the order of their sequence numbers."""
    remembered: list[tuple[str, float]]
    """In the order of their times."""
