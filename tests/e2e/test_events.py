"""Events through the running service: the search emulator dies and loses its data, and no event is lost."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from local.stack.search_server import SearchEmulator
from memnet.operations.events.reconcile_events import reconcile_events, verify_search
from tests.domain.event_samples import event_body
from tests.e2e.client import Answer, User, until_definite
from tests.e2e.service import Service

pytestmark = pytest.mark.asyncio(loop_scope="module")

EVENTS = 110
WRITERS = 16
QUERIES: tuple[dict[str, Any], ...] = (
    {"query": "number 7"},
    {"query": "retrieval latency", "top_k": 50},
    {"query": "retrieval", "service_id": "svc-1", "top_k": 30},
    {"project_id": "p2", "top_k": 100},
    {"from": "2026-01-01T00:01:00Z", "to": "2026-01-01T00:02:00Z", "top_k": 100},
)


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchEmulator]:
    """An emulator of this module's own, to be killed; what it has answered is on disk."""
    directory: Path = tmp_path_factory.mktemp("search")
    with SearchEmulator(log=directory / "search.log", directory=directory / "data") as running:
        yield running


@pytest.fixture(scope="module")
def environment(emulator: SearchEmulator) -> dict[str, str]:
    return {
        **emulator.environment,
        "MEMNET_SEARCH_TIMEOUT_SECONDS": "1",
    }


@pytest_asyncio.fixture(loop_scope="module")
async def searchable(service: Service, emulator: SearchEmulator) -> AsyncIterator[Service]:
    """The service with its emulator running, also after a test that failed between a kill and the restart."""
    if emulator.child.pid is None:
        await asyncio.to_thread(emulator.start)
    yield service


def numbered(number: int) -> dict[str, Any]:
    return event_body(
        f"e{number:03}",
        digest=f"The retrieval latency was looked at, number {number} of {number % 7}.",
        timestamp=f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z",
        service_id=f"svc-{number % 3}",
        project_ids=[f"p{number % 5}", "all"],
        keywords=["latency"] * (number % 2),
    )


async def write(user: User, body: dict[str, Any]) -> Answer:
    answer, _ = await until_definite(lambda: user.send("POST", "/events", json=body))
    assert answer.status in (200, 201), answer.text
    return answer


async def search(user: User, **body: Any) -> list[dict[str, Any]]:
    answer = await user.send("POST", "/events:search", json=body)
    assert answer.status == 200, answer.text
    found: list[dict[str, Any]] = answer.body["events"]
    return found


async def check_index(service: Service) -> int:
    """The index holds exactly what is stored; returns how many events that are."""
    report = await verify_search(None, service.storage)
    assert report.agrees, report
    return report.events


async def reconcile(service: Service) -> int:
    report = await reconcile_events(service.storage)
    assert report.postponed == 0
    return report.indexed


async def test_killing_the_search_service_during_writes_loses_none(
    searchable: Service, emulator: SearchEmulator
) -> None:
    service, user = searchable, searchable.user()
    written: list[Answer] = []
    waiting = iter(range(EVENTS))

    async def writer() -> None:
        for number in waiting:
            written.append(await write(user, numbered(number)))
            if len(written) in (EVENTS // 5, EVENTS // 2):
                await asyncio.to_thread(emulator.kill)
            if len(written) in (EVENTS * 2 // 5, EVENTS * 4 // 5):
                await asyncio.to_thread(emulator.start)

    await asyncio.gather(*(writer() for _ in range(WRITERS)))
    assert len(written) == EVENTS
    missed = sum(not answer.body["indexed"] for answer in written)
    assert missed > EVENTS // 4
    assert await reconcile(service) >= missed
    assert await reconcile(service) == 0
    assert await check_index(service) >= EVENTS
    assert len(await search(user, query="retrieval", top_k=100)) == 100

    # The index is lost with all that is in it, and comes back with the same results.
    before = [await search(user, **query) for query in QUERIES]
    assert all(before)
    storage = service.storage
    layout = await storage.search.register.recent()
    assert layout is not None
    await storage.search.index.drop(layout.serving.name)
    gone = await user.send("POST", "/events:search", json={"query": "retrieval"})
    assert (gone.status, gone.code) == (503, "SEARCH_UNAVAILABLE")
    assert (await reindexed(user))["status"] == "succeeded"
    assert [await search(user, **query) for query in QUERIES] == before
    await check_index(service)


async def reindexed(user: User) -> dict[str, Any]:
    """Start a reindexing over HTTP and follow it to its end."""
    url = f"{user.api}/v1/tenants/{user.tenant_id}/search:reindex"
    async with user.session.post(url, headers=user.authorization) as started:
        assert started.status == 202, await started.text()
    async with asyncio.timeout(120):
        while True:
            async with user.session.get(url, headers=user.authorization) as answer:
                record: dict[str, Any] = await answer.json()
            if record["status"] != "running":
                return record
            await asyncio.sleep(0.05)


HOSTILE = (
    "' or tenant_id eq 't1",
    "') or (user_id ne '",
    "x' or true or 'x' eq 'x",
    "%27 or 1 eq 1",
    "*",
    "user_id:victim",
    "a' or search.ismatch('*') or '",
    "p) or project_ids/any(q: q ne '') or tenant_id ne ('",
    "\u2019 or true",
    "\u0000",
    "\U0001d494ecret",
)


async def test_no_hostile_string_brings_anybody_elses_event(searchable: Service) -> None:
    service = searchable
    victim, neighbour = service.user(), service.user()
    for user in (victim, neighbour):
        body = event_body("secret", digest="secret plans", service_id="secret", project_ids=["secret"], keywords=["*"])
        await write(user, body)
    attacker = service.user()
    for text in HOSTILE:
        for member in ("query", "service_id", "project_id", "source_type", "entity", "cursor", "from", "to"):
            for more in ({}, {"query": "secret plans"}):
                answer = await attacker.send("POST", "/events:search", json={**more, member: text})
                assert answer.status in (200, 400), answer.text
                assert "secret plans" not in answer.text
    assert [event["event_id"] for event in await search(victim, query="secret")] == ["secret"]
