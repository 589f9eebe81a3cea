"""How many requests a process works on, and what happens to one more."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI

from api.concurrency_limit import Slots
from memnet.domain.core.errors import Overloaded
from memnet.service import Service
from memnet.settings import Settings
from tests.api.conftest import AUDIENCE, DYNAMIC, ISSUER, Token, bearer, code, creating
from tests.sample_settings import sample_settings

MOST = 3


class SlowStorage:
    """Lets reads wait until `go_on` is set; everything else goes to the real store."""

    def __init__(self, documents: object) -> None:
        self._documents = documents
        self.reads = 0
        self.held = asyncio.Semaphore(0)
        self.go_on = asyncio.Event()

    def __getattr__(self, name: str) -> object:
        return getattr(self._documents, name)

    async def get(self, key: object) -> None:
        self.reads += 1
        self.held.release()
        await self.go_on.wait()


@pytest.fixture
def settings() -> Settings:
    return sample_settings(issuer_url=ISSUER, audience=AUDIENCE, max_in_flight=MOST)


@pytest.fixture
def storage(services: Service) -> SlowStorage:
    slow = SlowStorage(services.documents)
    object.__setattr__(services, "documents", slow)
    return slow


@pytest.fixture
def callers(token: Token) -> list[dict[str, str]]:
    """Headers of more principals than there are places."""
    return [bearer(token(oid=f"svc-{number}")) for number in range(MOST + 1)]


async def until_held(storage: SlowStorage, count: int) -> None:
    async with asyncio.timeout(60):
        for _ in range(count):
            await storage.held.acquire()


async def test_a_request_without_a_place_is_refused_at_once_and_touches_nothing(
    app: FastAPI, client: httpx.AsyncClient, storage: SlowStorage, callers: list[dict[str, str]]
) -> None:
    held = [asyncio.create_task(client.get(DYNAMIC, headers=caller)) for caller in callers[:MOST]]
    await until_held(storage, MOST)
    async with asyncio.timeout(60):
        for method in ("GET", "PATCH", "DELETE"):
            refused = await client.request(method, DYNAMIC, headers=callers[MOST])
            assert (refused.status_code, code(refused), refused.headers["Retry-After"]) == (503, "OVERLOADED", "1")
        anonymous = await client.get(DYNAMIC, headers={"Authorization": "Bearer x"})
        assert code(anonymous) == "UNAUTHENTICATED"
        for public in ("/docs", "/openapi.json", "/console", "/health/live", "/health/ready"):
            assert (await client.get(public)).status_code == 200
    assert storage.reads == MOST
    storage.go_on.set()
    assert [code(await answer) for answer in held] == ["DOCUMENT_NOT_FOUND"] * MOST
    assert app.state.concurrency_limit.working.count == 0
    assert code(await client.get(DYNAMIC)) == "DOCUMENT_NOT_FOUND"


async def test_one_principal_has_a_quarter_of_the_places(
    client: httpx.AsyncClient, storage: SlowStorage, callers: list[dict[str, str]]
) -> None:
    held = [asyncio.create_task(client.get(DYNAMIC))]
    await until_held(storage, 1)
    refused = await client.get(DYNAMIC)
    assert (refused.status_code, code(refused), refused.headers["Retry-After"]) == (429, "QUOTA_EXCEEDED", "1")
    held.append(asyncio.create_task(client.get(DYNAMIC, headers=callers[1])))
    await until_held(storage, 1)
    storage.go_on.set()
    assert [code(await answer) for answer in held] == ["DOCUMENT_NOT_FOUND"] * 2


async def test_a_body_that_is_being_read_takes_another_kind_of_place(
    app: FastAPI, client: httpx.AsyncClient, callers: list[dict[str, str]]
) -> None:
    reading, ends = asyncio.Semaphore(0), asyncio.Event()

    async def slow_body() -> AsyncIterator[bytes]:
        reading.release()
        await ends.wait()
        yield b"{}"

    def patching(caller: dict[str, str]) -> asyncio.Task[httpx.Response]:
        return asyncio.create_task(client.patch(DYNAMIC, content=slow_body(), headers=caller | creating()))

    async with asyncio.timeout(60):
        slow = [patching(caller) for caller in callers[:MOST]]
        for _ in slow:
            await reading.acquire()
        assert (app.state.concurrency_limit.receiving.count, app.state.concurrency_limit.working.count) == (MOST, 0)
        assert code(await client.get(DYNAMIC, headers=callers[0])) == "DOCUMENT_NOT_FOUND"
        assert code(await client.patch(DYNAMIC, json={}, headers=callers[MOST] | creating())) == "OVERLOADED"
    ends.set()
    assert {code(await answer) for answer in slow} == {"MALFORMED_REQUEST"}
    assert (app.state.concurrency_limit.receiving.count, app.state.concurrency_limit.working.count) == (0, 0)


async def test_a_place_is_given_back_whatever_becomes_of_the_request(
    app: FastAPI, client: httpx.AsyncClient, storage: SlowStorage
) -> None:
    leaving = asyncio.create_task(client.get(DYNAMIC))
    await until_held(storage, 1)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    assert (await client.get("/nowhere")).status_code == 404
    assert (await client.get(DYNAMIC, headers={"Authorization": "no"})).status_code == 401
    assert app.state.concurrency_limit.working.count == 0


def test_without_a_bound_any_number_is_taken() -> None:
    unlimited = Slots(0)
    for _ in range(1000):
        unlimited.acquire("svc-a")
    assert unlimited.count == 1000


def test_a_place_that_is_given_back_can_be_taken_again() -> None:
    places = Slots(1)
    for principal in ("svc-a", "svc-b", "svc-a"):
        places.acquire(principal)
        with pytest.raises(Overloaded):
            places.acquire("svc-c")
        places.release(principal)
    assert places.count == 0
