"""How many requests a process has in hand, and what becomes of one more."""

import asyncio

import httpx
import pytest
from fastapi import FastAPI

from api.in_flight import InFlight
from memnet.domain.errors import Overloaded
from memnet.settings import Settings
from memnet.wiring import Services
from tests.api.conftest import AUDIENCE, DYNAMIC, ISSUER, code

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
    return Settings(storage_url="memory", issuer_url=ISSUER, audience=AUDIENCE, max_in_flight=MOST)


@pytest.fixture
def storage(services: Services) -> SlowStorage:
    slow = SlowStorage(services.documents)
    object.__setattr__(services, "documents", slow)
    return slow


async def until_held(storage: SlowStorage, count: int) -> None:
    async with asyncio.timeout(60):
        for _ in range(count):
            await storage.held.acquire()


async def test_what_does_not_fit_is_told_at_once_and_touches_nothing(
    app: FastAPI, client: httpx.AsyncClient, storage: SlowStorage
) -> None:
    held = [asyncio.create_task(client.get(DYNAMIC)) for _ in range(MOST)]
    await until_held(storage, MOST)
    async with asyncio.timeout(60):
        for method in ("GET", "PATCH", "DELETE"):
            refused = await client.request(method, DYNAMIC)
            assert (refused.status_code, code(refused), refused.headers["Retry-After"]) == (503, "OVERLOADED", "1")
        anonymous = await client.get(DYNAMIC, headers={"Authorization": "Bearer x"})
        assert code(anonymous) == "OVERLOADED"
    assert storage.reads == MOST
    storage.go_on.set()
    assert [code(await answer) for answer in held] == ["DOCUMENT_NOT_FOUND"] * MOST
    assert app.state.in_flight.count == 0
    assert code(await client.get(DYNAMIC)) == "DOCUMENT_NOT_FOUND"


async def test_health_is_answered_when_there_is_no_room(client: httpx.AsyncClient, storage: SlowStorage) -> None:
    held = [asyncio.create_task(client.get(DYNAMIC)) for _ in range(MOST)]
    await until_held(storage, MOST)
    assert (await client.get("/health/live")).status_code == 200
    assert (await client.get("/health/ready")).status_code == 200
    storage.go_on.set()
    await asyncio.gather(*held)


async def test_a_place_is_given_back_whatever_becomes_of_the_request(
    app: FastAPI, client: httpx.AsyncClient, storage: SlowStorage
) -> None:
    leaving = asyncio.create_task(client.get(DYNAMIC))
    await until_held(storage, 1)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    assert (await client.get("/nowhere")).status_code == 404
    assert (await client.get(DYNAMIC, headers={"Authorization": "no"})).status_code == 401
    assert app.state.in_flight.count == 0


def test_without_a_bound_any_number_is_taken() -> None:
    unlimited = InFlight(0)
    for _ in range(1000):
        with unlimited.place("/v1"):
            pass
    nested = InFlight(1)
    with nested.place("/v1"), pytest.raises(Overloaded), nested.place("/v1"):
        pass
    assert nested.count == 0


async def test_a_stopping_process_serves_says_so_and_closes(app: FastAPI, client: httpx.AsyncClient) -> None:
    assert "Connection" not in (await client.get("/health/ready")).headers
    app.state.in_flight.draining = True
    ready = await client.get("/health/ready")
    assert (ready.status_code, code(ready), ready.headers["Connection"]) == (503, "UNAVAILABLE", "close")
    served = await client.get(DYNAMIC)
    assert (code(served), served.headers["Connection"]) == ("DOCUMENT_NOT_FOUND", "close")
