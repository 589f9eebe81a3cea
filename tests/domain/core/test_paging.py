"""Pages, bounded concurrency and the retry of conditional writes."""

import asyncio

import pytest

from memnet.domain.core.errors import Unavailable
from memnet.paging import bounded, pages, retry_conflicts, rows
from memnet.ports import Page, StoreConflict

PAGES = {None: Page([1, 2], "a"), "a": Page([], "b"), "b": Page([3], None)}


class Listing:
    """Three pages; keeps what was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, str | None]] = []

    async def __call__(self, *, limit: int, cursor: str | None) -> Page[int]:
        self.asked.append((limit, cursor))
        return PAGES[cursor]


async def test_rows_come_from_every_page_also_behind_an_empty_one() -> None:
    listing = Listing()
    assert [row async for row in rows(listing, 2)] == [1, 2, 3]
    assert listing.asked == [(2, None), (2, "a"), (2, "b")]
    assert [list(page) async for page in pages(Listing())] == [[1, 2], [], [3]]


async def test_a_page_is_fetched_only_when_it_is_needed() -> None:
    listing = Listing()
    async for _ in rows(listing):
        break
    assert len(listing.asked) == 1


async def test_results_keep_the_order_of_the_items_and_no_more_calls_run_than_allowed() -> None:
    running, most = 0, 0

    async def call(item: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(10 - item):
            await asyncio.sleep(0)
        running -= 1
        return item * item

    assert await bounded(call, range(9), at_once=3) == [item * item for item in range(9)]
    assert most == 3
    assert await bounded(call, []) == []


async def test_all_calls_end_before_the_first_failure_is_raised() -> None:
    ended: list[int] = []

    async def call(item: int) -> None:
        if item in (1, 2):
            raise ValueError(item)
        await asyncio.sleep(0)
        ended.append(item)

    with pytest.raises(ValueError, match="1"):
        await bounded(call, range(5))
    assert ended == [0, 3, 4]


async def test_a_step_is_run_again_after_a_conflict() -> None:
    outcomes = [StoreConflict(), StoreConflict()]

    async def step() -> str:
        if outcomes:
            raise outcomes.pop()
        return "written"

    assert await retry_conflicts(step, attempts=3) == "written"
    outcomes = [StoreConflict(), StoreConflict()]
    with pytest.raises(Unavailable):
        await retry_conflicts(step, attempts=2)


async def test_other_failures_are_not_retried() -> None:
    calls = 0

    async def step() -> None:
        nonlocal calls
        calls += 1
        raise ValueError(calls)

    with pytest.raises(ValueError, match="1"):
        await retry_conflicts(step)
    assert calls == 1
