"""`memnet search` against Azurite and the search emulator."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import uuid4

import pytest

from local.stack.search_server import SearchEmulator
from memnet import settings
from memnet.operations.events.write_event import write_event
from memnet.service import Service
from memnet.settings import Settings
from memnet.wiring import connect
from tests.cli.conftest import Memnet
from tests.domain.event_samples import SCOPE, event, stored_event
from tests.services import arguments


@pytest.fixture
def searchable(storage: Settings, search_emulator: SearchEmulator, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings of the container and of indexes of its own."""
    for name, value in search_emulator.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MEMNET_SEARCH_INDEX", f"t{uuid4().hex}")
    found = settings.load_storage()
    assert found is not None
    return found


def within(found: Settings, work: Callable[[Service], Awaitable[None]]) -> None:
    async def run() -> None:
        async with connect(found) as services:
            await work(services)

    asyncio.run(run())


async def write(services: Service, event_id: str, *, indexed: bool) -> None:
    search = services.search if indexed else None
    ports = {"ids": services.ids, "background": services.background}
    written = await write_event(SCOPE, event(event_id), **arguments(events=services.events, search=search, **ports))  # type: ignore[arg-type]
    assert written.indexed is indexed


async def three_events(services: Service) -> None:
    await write(services, "e1", indexed=True)
    await write(services, "e2", indexed=True)
    await write(services, "e3", indexed=False)


def test_verify_tells_what_reconcile_repairs(memnet: Memnet, searchable: Settings) -> None:
    within(searchable, three_events)
    broken = memnet("search", "verify")
    assert broken.exit_code == 1
    assert broken.stdout == f"not indexed: {stored_event('e3').key.blob_name}\nbroken: 3 events, 2 indexed\n"
    repaired = memnet("search", "reconcile")
    assert repaired.exit_code == 0, repaired.output
    assert repaired.stdout == "1 marks listed, 1 events indexed, 0 postponed, 0 marks without an event dropped\n"
    assert memnet("search", "verify", "--tenant", "t1").stdout == "ok: 3 events, 3 indexed\n"
    assert memnet("search", "verify", "--tenant", "t2").stdout == "ok: 0 events, 0 indexed\n"


def test_reindex_brings_a_lost_index_back(memnet: Memnet, searchable: Settings) -> None:
    within(searchable, three_events)

    async def lose(services: Service) -> None:
        layout = await services.search.register.recent()
        assert layout is not None
        await services.search.index.drop(layout.serving.name)

    within(searchable, lose)
    lost = memnet("search", "verify")
    assert lost.exit_code == 1
    assert "SEARCH_UNAVAILABLE" in lost.output
    rebuilt = memnet("search", "reindex")
    assert rebuilt.exit_code == 0, rebuilt.output
    assert rebuilt.stdout.startswith("ok: 3 events in t")
    assert memnet("search", "verify").stdout == "ok: 3 events, 3 indexed\n"


def test_what_does_not_answer_is_named(memnet: Memnet, searchable: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMNET_SEARCH_URL", "http://127.0.0.1:1")
    result = memnet("search", "reindex")
    assert result.exit_code == 1
    assert result.output == "Error: the search service at http://127.0.0.1:1 does not answer\n"


def test_a_tenant_that_cannot_be_one_is_a_usage_error(memnet: Memnet, storage: Settings) -> None:
    assert memnet("search", "verify", "--tenant", "../x").exit_code == 2
