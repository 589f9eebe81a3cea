"""However often readiness is checked, each dependency gets one request at a time."""

import asyncio
from datetime import timedelta

import httpx
import pytest

from api.single_flight import MAX_AGE, SingleFlight
from memnet.adapters.memory.clock import FrozenClock
from memnet.service import Service

CALLERS = 100
MOMENT = timedelta(microseconds=1)


class Place:
    """Something that is looked at; each look waits for `go_on` and finds its own number, or fails."""

    def __init__(self) -> None:
        self.looks = 0
        self.go_on = asyncio.Event()
        self.failure: Exception | None = None

    async def look(self) -> int:
        self.looks += 1
        found = self.looks
        await self.go_on.wait()
        if self.failure is not None:
            raise self.failure
        return found


@pytest.fixture
def place() -> Place:
    return Place()


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def shared(place: Place, clock: FrozenClock) -> SingleFlight[int]:
    return SingleFlight(place.look, clock)


async def begun(shared: SingleFlight[int], count: int = CALLERS) -> list["asyncio.Task[int]"]:
    """Callers that all wait for an answer now."""
    asking = [asyncio.create_task(shared.get()) for _ in range(count)]
    for _ in range(5):
        await asyncio.sleep(0)
    return asking


async def test_all_who_ask_at_once_share_one_look(place: Place, shared: SingleFlight[int]) -> None:
    asking = await begun(shared)
    place.go_on.set()
    assert await asyncio.gather(*asking) == [1] * CALLERS
    assert place.looks == 1


async def test_an_answer_is_given_again_for_a_moment_and_not_for_longer(
    place: Place, clock: FrozenClock, shared: SingleFlight[int]
) -> None:
    place.go_on.set()
    assert await shared.get() == 1
    clock.advance(MAX_AGE - MOMENT)
    assert await shared.get() == 1
    clock.advance(MOMENT)
    assert await shared.get() == 2
    clock.advance(-MOMENT)
    assert await shared.get() == 3


@pytest.mark.parametrize("leaving", [0, 1])
async def test_a_caller_that_leaves_does_not_cancel_the_others(
    place: Place, shared: SingleFlight[int], leaving: int
) -> None:
    asking = await begun(shared, 3)
    asking[leaving].cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking[leaving]
    place.go_on.set()
    assert [await asked for index, asked in enumerate(asking) if index != leaving] == [1, 1]
    assert place.looks == 1


async def test_a_failure_is_raised_to_waiting_callers_and_not_cached(place: Place, shared: SingleFlight[int]) -> None:
    place.failure = ValueError("x")
    asking = await begun(shared, 2)
    place.go_on.set()
    assert [type(found) for found in await asyncio.gather(*asking, return_exceptions=True)] == [ValueError] * 2
    place.failure = None
    assert await shared.get() == 2


async def test_no_rate_of_checks_reaches_the_dependencies(
    anonymous: httpx.AsyncClient, services: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    pings = 0
    ping = services.documents.ping

    async def counted() -> None:
        nonlocal pings
        pings += 1
        await asyncio.sleep(0)
        await ping()

    monkeypatch.setattr(services.documents, "ping", counted)
    for _ in range(2):
        answers = await asyncio.gather(*(anonymous.get("/health/ready") for _ in range(CALLERS)))
        assert {answer.status_code for answer in answers} == {200}
    assert pings == 1
    assert isinstance(services.clock, FrozenClock)
    services.clock.advance(MAX_AGE)
    await anonymous.get("/health/ready")
    assert pings == 2
