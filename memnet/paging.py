"""Iterate over pages, run calls with bounded concurrency, and retry conditional writes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from memnet.domain.core.errors import Unavailable
from memnet.ports import Page, StoreConflict

PAGE_SIZE = 5000
"""Rows that one request to the storage returns at most (List Blobs, REST API: maxresults)."""
MAX_CONCURRENCY = 16
"""Calls that run at the same time, unless the caller says otherwise."""
ATTEMPTS = 16
T = TypeVar("T")
R = TypeVar("R")


class Listing(Protocol[T]):
    """A store's method that lists one page; `functools.partial` binds what comes before the page."""

    async def __call__(self, *, limit: int, cursor: str | None) -> Page[T]: ...


async def pages(listing: Listing[T], size: int = PAGE_SIZE) -> AsyncIterator[Sequence[T]]:
    """Yield each page of a listing, empty ones too. Raises what `listing` raises."""
    cursor: str | None = None
    while True:
        page = await listing(limit=size, cursor=cursor)
        yield page.items
        cursor = page.next_cursor
        if cursor is None:
            return


async def rows(listing: Listing[T], size: int = PAGE_SIZE) -> AsyncIterator[T]:
    """Yield each row of a listing. A page is fetched when its first row is due. Raises what `listing` raises."""
    async for page in pages(listing, size):
        for row in page:
            yield row


async def bounded(call: Callable[[T], Awaitable[R]], items: Iterable[T], *, at_once: int = MAX_CONCURRENCY) -> list[R]:
    """Call `call` with each item, at most `at_once` at the same time, and return the results in order.

    All calls end before the first failure, in the order of the items, is raised: none continues unobserved. Raises what
    `call` raises.
    """
    gate = asyncio.Semaphore(at_once)

    async def one(item: T) -> R:
        async with gate:
            return await call(item)

    outcomes = await asyncio.gather(*map(one, items), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]


async def retry_conflicts(step: Callable[[], Awaitable[T]], *, attempts: int = ATTEMPTS) -> T:
    """Run `step`, a read and a conditional write, until no other writer comes between; return its result.

    Raises:
        Unavailable: Every attempt ended with a StoreConflict.
        What `step` raises, except StoreConflict.
    """
    for _ in range(attempts):
        try:
            return await step()
        except StoreConflict:
            continue
    raise Unavailable(dependency="blob_storage")
