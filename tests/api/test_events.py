"""Events over HTTP: written once, found by words and filters, never anybody else's."""

import json
from dataclasses import replace
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memnet.adapters.memory.queue import MemoryQueue
from memnet.adapters.process.background import BackgroundTasks
from memnet.domain.core.errors import Unavailable
from memnet.service import Service
from memnet.stores import Search
from tests.api.conftest import USER, Token, bearer, code
from tests.domain.event_samples import event_body, stored_event

EVENTS, SEARCH = f"{USER}/events", f"{USER}/events:search"
OTHERS = ("/v1/tenants/t1/users/u2", "/v1/tenants/t2/users/u1", "/v1/tenants/t1/users/u10")


async def write(
    client: httpx.AsyncClient, event_id: str = "evt_01", base: str = USER, **members: Any
) -> httpx.Response:
    return await client.post(f"{base}/events", json=event_body(event_id, **members))


async def found(client: httpx.AsyncClient, base: str = USER, **body: Any) -> list[str]:
    response = await client.post(f"{base}/events:search", json=body)
    assert response.status_code == 200, response.text
    return [event["event_id"] for event in response.json()["events"]]


async def test_a_new_event_is_201_and_found(client: httpx.AsyncClient) -> None:
    response = await write(client)
    assert (response.status_code, response.json()) == (201, {"event_id": "evt_01", "indexed": True})
    assert "Idempotency-Replayed" not in response.headers
    response = await client.post(SEARCH, json={"query": "lifecycle"})
    (event,) = response.json()["events"]
    assert event.pop("score") > 0
    assert event.pop("untrusted_quotation") is True
    assert event == json.loads(stored_event().data)
    assert (response.json()["next_cursor"], response.json()["mode"]) == (None, "lexical")


async def test_the_same_event_again_is_200_replayed(client: httpx.AsyncClient) -> None:
    await write(client)
    again = await write(client, tenant_id="t1", user_id="u1")
    assert (again.status_code, again.json()) == (200, {"event_id": "evt_01", "indexed": True})
    assert again.headers["Idempotency-Replayed"] == "true"


async def test_another_event_under_its_id_is_409_and_changes_nothing(client: httpx.AsyncClient) -> None:
    await write(client)
    response = await write(client, digest="Something else.")
    assert (response.status_code, code(response)) == (409, "EVENT_EXISTS")
    assert await found(client, query="else") == []


async def test_an_id_of_the_service_s_own_is_400_so_no_replay_finds_its_event_s_id_used(
    client: httpx.AsyncClient,
) -> None:
    response = await write(client, "memnet-rpl-1")
    assert (response.status_code, code(response)) == (400, "INVALID_IDENTIFIER")
    assert await found(client, query="lifecycle") == []


@pytest.mark.parametrize("members", [{"tenant_id": "t2"}, {"user_id": "u2"}])
async def test_an_event_that_names_somebody_else_is_400(client: httpx.AsyncClient, members: dict[str, str]) -> None:
    response = await write(client, **members)
    assert (response.status_code, code(response)) == (400, "MALFORMED_REQUEST")
    assert await found(client) == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {**event_body(), "surprise": 1},
        {**event_body(), "event_id": "a/b"},
        {**event_body(), "timestamp": "yesterday"},
        {**event_body(), "digest": ""},
        {**event_body(), "keywords": ["x"] * 65},
        {**event_body(), "evidence": {"note": "x" * 9000}},
        [],
        None,
    ],
)
async def test_what_is_no_event_is_400(client: httpx.AsyncClient, body: Any) -> None:
    response = await client.post(EVENTS, json=body)
    assert (response.status_code, code(response)) == (400, "MALFORMED_REQUEST")
    assert await found(client) == []


async def test_filters_narrow_and_pages_join(client: httpx.AsyncClient) -> None:
    for day in range(1, 6):
        await write(client, f"e{day}", timestamp=f"2026-01-0{day}T00:00:00Z", service_id=f"s{day % 2}")
    assert await found(client) == ["e5", "e4", "e3", "e2", "e1"]
    assert await found(client, **{"from": "2026-01-02T00:00:00Z", "to": "2026-01-04T00:00:00+00:00"}) == ["e3", "e2"]
    assert await found(client, service_id="s0") == ["e4", "e2"]
    assert await found(client, project_id="project-alpha", top_k=2) == ["e5", "e4"]
    assert await found(client, project_id="project-beta") == []
    assert await found(client, entity="Azure", top_k=2) == ["e5", "e4"]
    assert await found(client, entity="azure") == []
    assert await found(client, source_type="mail") == []
    rows, cursor = [], None
    while True:
        body = {"query": "memory", "top_k": 2, "cursor": cursor}
        page = (await client.post(SEARCH, json=body)).json()
        rows += [event["event_id"] for event in page["events"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert sorted(rows) == ["e1", "e2", "e3", "e4", "e5"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"top_k": 0}, "MALFORMED_REQUEST"),
        ({"top_k": 101}, "MALFORMED_REQUEST"),
        ({"top_k": "5"}, "MALFORMED_REQUEST"),
        ({"query": "x" * 1001}, "MALFORMED_REQUEST"),
        ({"query": 5}, "MALFORMED_REQUEST"),
        ({"from": "yesterday"}, "MALFORMED_REQUEST"),
        ({"since": "2026-01-01T00:00:00Z"}, "MALFORMED_REQUEST"),
        ({"tenant_id": "t2"}, "MALFORMED_REQUEST"),
        ({"user_id": "u2"}, "MALFORMED_REQUEST"),
        ({"filter": "true"}, "MALFORMED_REQUEST"),
        ({"cursor": ""}, "MALFORMED_REQUEST"),
        ({"cursor": "AAAA"}, "INVALID_CURSOR"),
    ],
    ids=str,
)
async def test_a_search_that_is_none_is_400(client: httpx.AsyncClient, body: dict[str, Any], reason: str) -> None:
    response = await client.post(SEARCH, json=body)
    assert (response.status_code, code(response)) == (400, reason)


TEXTS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(["' or '1' eq '1", "*", "u2", "tenant_id:t2", "') or (user_id ne '", "/.*/", "secret"]),
)


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(
    text=TEXTS,
    filters=st.dictionaries(
        st.sampled_from(["service_id", "project_id", "source_type", "entity", "query", "cursor"]), TEXTS
    ),
)
async def test_no_user_gets_the_events_of_another(
    anonymous: httpx.AsyncClient, token: Token, text: str, filters: dict[str, str]
) -> None:
    headers = bearer(token(tid=["t1", "t2"]))
    for base in OTHERS:
        body = event_body(
            "secret", digest=f"secret {text}", service_id="secret", project_ids=["secret"], entities=["secret"]
        )
        await anonymous.post(f"{base}/events", json=body, headers=headers)
    response = await anonymous.post(SEARCH, json={"query": text, **filters}, headers=headers)
    assert response.status_code in (200, 400)
    assert response.json().get("events", []) == []


class DeadIndex:
    """A search service that does not answer."""

    async def search(self, *_: Any) -> None:
        raise Unavailable(dependency="search")

    upload = create = ping = search

    def new_name(self, suffix: str) -> str:
        return suffix


class TestTrouble:
    @pytest.fixture
    def services(self, services: Service) -> Service:
        dead: Any = DeadIndex()
        return replace(services, search=Search(dead, services.search.register, services.erasures))

    async def test_an_event_is_stored_all_the_same(self, client: httpx.AsyncClient, services: Service) -> None:
        response = await write(client)
        assert (response.status_code, response.json()) == (201, {"event_id": "evt_01", "indexed": False})
        assert await services.events.get(stored_event().key) == stored_event().data
        (mark,) = (await services.events.list_marked(limit=10, cursor=None)).items
        assert mark.key == stored_event().key

    async def test_a_search_service_that_is_down_is_reported_and_does_not_make_the_process_unready(
        self, client: httpx.AsyncClient
    ) -> None:
        ready = await client.get("/health/ready")
        assert (ready.status_code, ready.json()["checks"]["search"]) == (200, "failed")


REINDEX = "/v1/tenants/t1/search:reindex"


async def test_a_reindexing_is_started_and_reported(client: httpx.AsyncClient, services: Service) -> None:
    assert isinstance(services.queue, MemoryQueue)
    services.queue.available = False
    assert code(await client.get(REINDEX)) == "REINDEX_NOT_FOUND"
    stored = stored_event()
    await services.events.create(stored.key, stored.data)
    started = await client.post(REINDEX)
    assert (started.status_code, started.headers["Location"]) == (202, REINDEX)
    assert started.json()["status"] in ("running", "succeeded")
    assert isinstance(services.background, BackgroundTasks)
    await services.background.drain()
    record = (await client.get(started.headers["Location"])).json()
    assert record | {"reindex_id": "", "started_at": "", "updated_at": ""} == {
        "reindex_id": "",
        "status": "succeeded",
        "events": 1,
        "waiting": 0,
        "removed": 0,
        "started_at": "",
        "updated_at": "",
    }
    assert record["reindex_id"] == started.json()["reindex_id"]
    assert await found(client, query="lifecycle") == ["evt_01"]


async def test_a_sensitive_digest_is_refused_and_not_found(client: httpx.AsyncClient) -> None:
    refused = await write(client, digest="Maya's password is hunter2.")
    assert (refused.status_code, code(refused)) == (422, "FIELD_DENIED")
    assert refused.json()["error"]["details"] == {"path": "/digest", "kind": "password"}
    assert "hunter2" not in refused.text
    assert await found(client, query="password") == []
