"""Events in an assembled context over HTTP: on request, limited to the user, and never a reason to fail."""

import asyncio
import sys
from dataclasses import replace
from typing import Any

import httpx
import pytest

from memnet.catalog import Catalog
from memnet.domain.core.errors import Unavailable
from memnet.domain.events.event_search import EventQuery, Vector
from memnet.operations.context import assemble_context
from memnet.ports import Hits
from memnet.service import Service
from memnet.settings import Settings
from memnet.stores import Search
from memnet.wiring import in_memory
from tests.api.conftest import USER, creating
from tests.api.test_documents import REPLACEMENT, STATIC

ASSEMBLE = f"{USER}/context:assemble"
WISH = {"top_k": 5, "max_chars": 4000}


class BrokenIndex:
    """The EventIndex port where a search fails, or never ends."""

    def __init__(self, sound: Any, trouble: str) -> None:
        self._sound = sound
        self._trouble = trouble

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sound, name)

    async def search(self, name: str, query: EventQuery, vector: Vector | None) -> Hits:
        if self._trouble == "hanging search":
            await asyncio.Event().wait()
        raise Unavailable(dependency="search")


def event(event_id: str, digest: str, **members: Any) -> dict[str, Any]:
    return {
        "event_id": event_id,
        "service_id": "assistant-a",
        "timestamp": "2026-02-14T20:00:00Z",
        "source_type": "chat",
        "digest": digest,
        **members,
    }


@pytest.fixture
async def remembered(client: httpx.AsyncClient) -> None:
    """A project, an event of it, and one of none."""
    index = [{"project_id": "alpha", "aliases": ["Alpha"], "keywords": ["latency"]}]
    content = {"profile": {}, "projects_index": index}
    body = {**REPLACEMENT, "document": {**REPLACEMENT["document"], "content": content}}
    assert (await client.put(STATIC, json=body, headers=creating("s"))).status_code == 201
    evidence = {"message_ids": ["m1"]}
    rows = [
        event("e1", "Latency of alpha fell", project_ids=["alpha"], evidence=evidence, snapshot_uri="blob://s1"),
        event("e2", "Latency in general matters"),
    ]
    for row in rows:
        assert (await client.post(f"{USER}/events", json=row)).status_code == 201


async def assembled(client: httpx.AsyncClient, text: str, **members: Any) -> dict[str, Any]:
    body = {"profile_id": "project-copilot-v1", "conversation_hint": {"text": text}, **members}
    response = await client.post(ASSEMBLE, json=body)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


@pytest.mark.usefixtures("remembered")
async def test_events_of_the_routed_project_come_with_their_citation(client: httpx.AsyncClient) -> None:
    found = await assembled(client, "latency of alpha", include_events=WISH)
    assert found["selected_project_id"] == "alpha"
    (cited,) = found["events"]
    assert (cited["event_id"], cited["snapshot_uri"], cited["evidence"]) == ("e1", "blob://s1", {"message_ids": ["m1"]})
    assert (cited["timestamp"][:10], cited["score"] > 0) == ("2026-02-14", True)
    assert found["dropped_events"] == []
    assert "events_error" not in found


class TestTrouble:
    @pytest.fixture(params=["failing search", "hanging search"])
    def services(
        self,
        request: pytest.FixtureRequest,
        settings: Settings,
        catalog: Catalog,
        monkeypatch: pytest.MonkeyPatch,
    ) -> Service:
        # By the name of the module: the package has the function of the same name, too.
        monkeypatch.setattr(sys.modules[assemble_context.__module__], "EVENTS_SECONDS", 0.05)
        services = in_memory(settings, catalog)
        broken: Any = BrokenIndex(services.search.index, request.param)
        return replace(services, search=Search(broken, services.search.register, services.erasures))

    @pytest.mark.usefixtures("remembered")
    async def test_the_documents_are_returned_without_events(self, client: httpx.AsyncClient) -> None:
        found = await assembled(client, "latency of alpha", include_events=WISH)
        assert [row["binding_id"] for row in found["documents"]] == ["user_static"]
        assert found["selected_project_id"] == "alpha"
        assert (found["events"], found["dropped_events"]) == ([], [])
        assert found["events_error"]["code"] in ("SEARCH_UNAVAILABLE", "UNAVAILABLE")
        without = await assembled(client, "latency of alpha")
        assert {"events", "dropped_events", "events_error"} & without.keys() == set()
