"""Erasing a user from the search service: changes that show late, and documents that it does not give up."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from memnet.adapters.azure.search_index import open_search
from memnet.adapters.memory.ids import SequentialIds
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.scope import UserScope
from memnet.operations.governance import erase_user as module
from memnet.operations.governance.erase_user import erase_index
from memnet.stores import ErasureStore, Search, SearchRegister, count_indexed, index_events
from tests.domain.event_samples import SCOPE, stored_event
from tests.memory_blobs import memory_blobs

OTHER = UserScope("t1", "u2")


class Switches:
    """The emulator's switches, which are all off at the end."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def set(self, **members: Any) -> None:
        (await self._client.post("/_emulator/faults", json=members)).raise_for_status()


@pytest.fixture
async def switches(search_emulator: Any) -> AsyncIterator[Switches]:
    async with httpx.AsyncClient(base_url=search_emulator.url, headers={"api-key": search_emulator.api_key}) as client:
        yield Switches(client)
        (await client.delete("/_emulator/faults")).raise_for_status()


@pytest.fixture
async def search(search_emulator: Any) -> AsyncIterator[Search]:
    """An index of this test alone, with events of two users."""
    async with open_search(
        search_emulator.url,
        key=search_emulator.api_key,
        prefix=f"t{uuid.uuid4().hex}",
        timeout_seconds=10,
        backoff_seconds=0.001,
    ) as index:
        made = Search(index, SearchRegister(memory_blobs(), fresh_seconds=0), ErasureStore(memory_blobs()))
        stored = [stored_event(f"e{n}", scope=scope) for n in range(7) for scope in (SCOPE, OTHER)]
        await index_events(stored, search=made, ids=SequentialIds())
        yield made


async def shown(search: Search) -> list[int]:
    return [await count_indexed(scope, search=search) for scope in (SCOPE, OTHER)]


async def test_a_removal_that_shows_late_is_seen_before_it_is_claimed(search: Search, switches: Switches) -> None:
    await switches.set(visibility={"mode": "delayed", "milliseconds": 500})
    assert await erase_index(SCOPE, search=search) == 7
    assert await shown(search) == [0, 7]


async def test_a_removal_that_does_not_show_is_not_claimed(
    search: Search, switches: Switches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.001)
    await switches.set(visibility={"mode": "held"})
    with pytest.raises(Unavailable):
        await erase_index(SCOPE, search=search)
    await switches.set(visibility={"mode": "immediate"})
    await erase_index(SCOPE, search=search)
    assert await shown(search) == [0, 7]


@pytest.mark.parametrize("status", [403, 409, 422, 503])
async def test_a_document_that_stays_is_not_claimed(search: Search, switches: Switches, status: int) -> None:
    key = stored_event("e3").key.index_key
    await switches.set(fail_keys={key: status})
    with pytest.raises(Unavailable):
        await erase_index(SCOPE, search=search)
    assert await shown(search) == [1, 7]
    await switches.set(fail_keys={})
    assert await erase_index(SCOPE, search=search) == 1
    assert await shown(search) == [0, 7]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_service_that_fails_is_not_claimed_to_be_empty(search: Search, switches: Switches, when: str) -> None:
    for operation in ("search", "index"):
        await switches.set(next_requests=[{"status": 503, "count": 1000, "operation": operation, "when": when}])
        with pytest.raises(Unavailable):
            await erase_index(SCOPE, search=search)
    await switches.set(next_requests=[])
    await erase_index(SCOPE, search=search)
    assert await shown(search) == [0, 7]


async def test_several_at_once_do_no_harm(search: Search) -> None:
    counts = await asyncio.gather(*(erase_index(SCOPE, search=search) for _ in range(4)))
    assert max(counts) == 7
    assert await shown(search) == [0, 7]
