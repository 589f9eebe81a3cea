"""The Background contract, and what its one implementation adds for shutdown."""

import asyncio
import logging
from typing import Any

import pytest

from memnet.adapters.process.background import BackgroundTasks
from memnet.domain.core.errors import ErasureRunning


async def test_work_is_done_without_being_awaited() -> None:
    done: list[int] = []

    async def work(number: int) -> None:
        await asyncio.sleep(0)
        done.append(number)

    background = BackgroundTasks()
    for number in range(3):
        background.start("work", work(number))
    assert done == []
    assert await background.drain()
    assert done == [0, 1, 2]


async def test_a_failure_is_logged_under_its_name_and_stops_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []

    async def fail() -> None:
        raise ValueError("x")

    async def work() -> None:
        done.append("work")

    background = BackgroundTasks()
    background.start("flush one", fail())
    background.start("flush two", work())
    assert await background.drain()
    assert done == ["work"]
    assert [record.getMessage() for record in caplog.records] == ["background work failed: flush one"]
    assert caplog.records[0].levelno == logging.ERROR


async def test_no_more_pieces_run_at_once_than_allowed() -> None:
    running = most = 0

    async def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    background = BackgroundTasks(concurrency=2)
    for _ in range(10):
        background.start("work", work())
    assert await background.drain()
    assert most == 2


async def test_drain_waits_for_what_work_starts() -> None:
    done: list[str] = []
    background = BackgroundTasks()

    async def inner() -> None:
        done.append("inner")

    async def outer() -> None:
        background.start("inner", inner())

    background.start("outer", outer())
    assert await background.drain(60)
    assert done == ["inner"]


@pytest.mark.parametrize("concurrency", [1, 16])
async def test_drain_cancels_what_does_not_end(concurrency: Any) -> None:
    """With one slot, the second piece never begins; that must not warn of a coroutine that was never awaited."""
    ended: list[str] = []

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("hang")

    background = BackgroundTasks(concurrency)
    background.start("one", hang())
    background.start("two", hang())
    assert not await background.drain(0.01)
    assert len(ended) == min(concurrency, 2)
    assert await background.drain()


async def test_what_an_erasure_ends_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        raise ErasureRunning

    background = BackgroundTasks()
    with caplog.at_level(logging.INFO, "memnet.background"):
        background.start("flush one", work())
        assert await background.drain()
    [record] = caplog.records
    assert (record.levelno, record.exc_info) == (logging.INFO, None)
    assert record.getMessage().endswith("flush one")
