"""Context over HTTP: the selected documents, and those left out."""

from datetime import timedelta
from typing import Any, Literal

import httpx
import pytest

from memnet.adapters.memory.clock import FrozenClock
from memnet.service import Service
from memnet.settings import Settings
from tests.api.conftest import (
    AUDIENCE,
    DYNAMIC,
    ISSUER,
    USER,
    Token,
    bearer,
    changing,
    code,
    creating,
    patch_body,
)
from tests.api.test_documents import REPLACEMENT, STATIC
from tests.sample_settings import sample_settings

ASSEMBLE = f"{USER}/context:assemble"
SPECIFIED = {
    "profile_id": "project-copilot-v1",
    "conversation_hint": {"text": "Need help with project alpha retrieval latency", "project_id": None},
    "max_docs": 4,
}


@pytest.fixture
async def memory(client: httpx.AsyncClient, etag: str) -> None:
    """A user with a routing document and two projects."""
    index = [
        {"project_id": f"project-{name}", "aliases": [f"project {name}"], "keywords": [name]}
        for name in ("alpha", "beta")
    ]
    content = {"profile": {}, "projects_index": index}
    body = {**REPLACEMENT, "document": {**REPLACEMENT["document"], "content": content}}
    assert (await client.put(STATIC, json=body, headers=creating("s"))).status_code == 201
    for name in ("alpha", "beta"):
        op = {"op": "add", "path": "/content/summary", "value": f"About {name}."}
        path = f"{USER}/documents/projects/project-{name}.json"
        answer = await client.patch(path, json=patch_body(op, binding_id="project_doc"), headers=creating(name))
        assert answer.status_code == 201


async def assemble(client: httpx.AsyncClient, **members: Any) -> dict[str, Any]:
    response = await client.post(ASSEMBLE, json=SPECIFIED | members)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


@pytest.mark.usefixtures("memory")
async def test_the_specifications_request_works_as_written(client: httpx.AsyncClient) -> None:
    found = await assemble(client)
    assert found["selected_project_id"] == "project-alpha"
    assert found["selected"] == {"project_id": "project-alpha"}
    assert [row["binding_id"] for row in found["documents"]] == ["user_static", "user_dynamic", "project_doc"]
    assert set(found["documents"][0]) == {"binding_id", "namespace", "path", "etag", "document"}
    assert found["documents"][2]["document"]["content"]["summary"] == "About alpha."
    assert found["dropped_bindings"] == []
    assert found["routing_debug"]["reason"] == "alias_match"
    read = await client.get(f"{USER}/documents/projects/project-alpha.json")
    assert found["documents"][2]["etag"] == read.headers["ETag"]


async def test_an_unknown_hint_is_ignored(client: httpx.AsyncClient) -> None:
    found = await assemble(client, conversation_hint={"text": "", "mood": "in a hurry"})
    assert found["selected"] == {}


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        ({"profile_id": "unknown"}, 404, "PROFILE_NOT_FOUND"),
        ({"conversation_hint": {"project_id": "../x"}}, 400, "INVALID_IDENTIFIER"),
        ({"conversation_hint": []}, 400, "MALFORMED_REQUEST"),
        ({"max_docs": 0}, 400, "MALFORMED_REQUEST"),
        ({"max_chars_total": -1}, 400, "MALFORMED_REQUEST"),
        ({"surprise": 1}, 400, "MALFORMED_REQUEST"),
    ],
)
async def test_refusals(client: httpx.AsyncClient, body: dict[str, Any], status: int, expected: str) -> None:
    response = await client.post(ASSEMBLE, json=SPECIFIED | body)
    assert (response.status_code, code(response)) == (status, expected)


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("wanted", ["always", "on_request", "never"])
class TestRoutingDebug:
    @pytest.fixture
    def settings(self, wanted: Literal["always", "on_request", "never"]) -> Settings:
        return sample_settings(issuer_url=ISSUER, audience=AUDIENCE, routing_debug=wanted)

    async def test_it_is_shown_as_the_setting_says(self, client: httpx.AsyncClient, wanted: str, asked: bool) -> None:
        found = await assemble(client, routing_debug=asked)
        assert ("routing_debug" in found) is (wanted == "always" or (wanted == "on_request" and asked))


async def test_guidance_is_separate_and_expired_entries_are_left_out(
    client: httpx.AsyncClient, etag: str, services: Service, token: Token
) -> None:
    """By its class, one entry expires after a day."""
    fixed = {
        "text": "x",
        "confidence": 1,
        "evidence": {"message_ids": ["m1"]},
        "last_verified_at": "2026-02-14T20:00:00Z",
    }
    wish = {"id": "wish", **fixed}
    ops = [
        {"op": "add", "path": "/content/durable_facts/-", "value": {"id": "short", **fixed, "ttl_class": "today"}},
        {"op": "add", "path": "/content/durable_facts/-", "value": {"id": "long", **fixed}},
        {"op": "add", "path": "/content/user_instructions/-", "value": wish},
    ]
    body = patch_body(*ops, confidence=1)
    answer = await client.patch(DYNAMIC, json=body, headers=changing(etag, "facts"))
    assert answer.status_code == 200, answer.text
    assert isinstance(services.clock, FrozenClock)
    services.clock.advance(timedelta(days=1))
    client.headers.update(bearer(token()))
    after = await assemble(client)
    (found,) = after["documents"]
    assert [fact["id"] for fact in found["document"]["content"]["durable_facts"]] == ["long"]
    assert found["left_out"] == ["/content/durable_facts/0"]
    place = {"binding_id": "user_dynamic", "pointer": "/content/user_instructions"}
    assert after["guidance"] == [{**place, "entries": [wish]}]
    assert "no policy" in after["guidance_note"]
