"""Ids in a known order."""

from itertools import count


class SequentialIds:
    """The IdGenerator port for tests: version 4 UUIDs in form, numbered from 1."""

    def __init__(self) -> None:
        """Start at 1."""
        self._numbers = count(1)

    def new(self) -> str:
        """Return the next id."""
        return f"00000000-0000-4000-8000-{next(self._numbers):012d}"

    def secret(self, size: int) -> bytes:
        """Return `size` bytes that no earlier call has returned: the next number."""
        return next(self._numbers).to_bytes(size, "big")
