"""The clock and the source of ids: the only reader of time and entropy."""

from datetime import UTC, datetime
from secrets import token_bytes
from uuid import uuid4


class SystemClock:
    """The Clock port on the system's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class RandomIds:
    """The IdGenerator port on the system's entropy."""

    def new(self) -> str:
        return str(uuid4())

    def secret(self, size: int) -> bytes:
        return token_bytes(size)
