"""A BlobStorage that counts its calls."""

import asyncio
from collections import Counter
from typing import Any, cast

from memnet.ports import BlobStorage

KINDS = {
    "get": "GET",
    "put": "PUT",
    "create_log": "PUT",
    "append": "APPEND",
    "delete": "DELETE",
    "list": "LIST",
    "list_folders": "LIST",
}
"""The calls of the port; each is one request."""


class CountedStorage:
    """Passes each call to another storage and counts it by kind."""

    def __init__(self, inner: BlobStorage) -> None:
        """`inner` does the work."""
        self._inner = inner
        self.counts: Counter[str] = Counter()
        self._reached: tuple[int, asyncio.Event] | None = None

    def __getattr__(self, method: str) -> Any:
        call = getattr(self._inner, method)
        if method not in KINDS:
            return call

        async def counted(name: str, *arguments: Any, **options: Any) -> Any:
            self.counts[KINDS[method]] += 1
            if self._reached and self.counts.total() >= self._reached[0]:
                self._reached[1].set()
            await self.before(method, name)
            return await call(name, *arguments, **options)

        return counted

    async def before(self, method: str, name: str) -> None:
        """Called before each call; does nothing here."""

    async def wait_for(self, calls: int) -> None:
        """Return when the counts add up to `calls`."""
        self._reached = calls, asyncio.Event()
        await self._reached[1].wait()
        self._reached = None

    def as_storage(self) -> BlobStorage:
        """Return this object as the port that it implements by delegation."""
        return cast("BlobStorage", self)
