"""Ids in a known order."""


class SequentialIds:
    """The IdGenerator port for tests: version 4 UUIDs in form, numbered from 1."""

    def __init__(self) -> None:
        self._made = 0

    def new(self) -> str:
        return f"00000000-0000-4000-8000-{self._next():012d}"

    def secret(self, size: int) -> bytes:
        return self._next().to_bytes(size, "big")

    def _next(self) -> int:
        self._made += 1
        return self._made
