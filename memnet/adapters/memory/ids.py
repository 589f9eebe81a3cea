"""Ids in a known order."""


class SequentialIds:
    """The IdGenerator port for tests: version 4 UUIDs in form, numbered from 1."""

    def __init__(self) -> None:
        """Start at 1."""
        self._made = 0

    def new(self) -> str:
        """Return the next id."""
        return f"00000000-0000-4000-8000-{self._next():012d}"

    def secret(self, size: int) -> bytes:
        """Return `size` bytes that no earlier call has returned: the next number."""
        return self._next().to_bytes(size, "big")

    def _next(self) -> int:
        self._made += 1
        return self._made
