"""The clock and the source of ids: the only reader of time and entropy."""

from datetime import UTC, datetime
from secrets import token_bytes
from uuid import uuid4


class SystemClock:
    """The Clock port on the system's clock."""

    def now(self) -> datetime:
        """Return the current time in UTC, timezone-aware."""
        return datetime.now(UTC)


class RandomIds:
    """The IdGenerator port on the system's entropy."""

    def new(self) -> str:
        """Return a random (version 4) UUID in its canonical text form (RFC 9562)."""
        return str(uuid4())

    def secret(self, size: int) -> bytes:
        """Return `size` bytes from the operating system's generator."""
        return token_bytes(size)
