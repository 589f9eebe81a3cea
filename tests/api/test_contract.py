"""The OpenAPI document says what the service does, also in the corners where a generated client would fail."""

import re
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from tests.api.conftest import DYNAMIC, USER, changing, code, creating, patch_body
from tests.api.test_openapi import operations

PROFILE = "/v1/profiles/project-copilot-v1"


def parameters(app: FastAPI, operation: str) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in operations(app)[operation]["parameters"]}


@pytest.mark.parametrize("operation", ["patch_document", "replace_document", "delete_document"])
@pytest.mark.parametrize(
    "value", ['"1-a"', 'W/"1-a"', '""', "1-a", "", "*", '"a", "b"', '"a" "b"', "a b", 'W/1"', 'a"b', "W/a"]
)
async def test_if_match_on_a_write_is_what_its_pattern_says(
    client: httpx.AsyncClient, app: FastAPI, operation: str, value: str
) -> None:
    pattern = parameters(app, operation)["If-Match"]["schema"]["pattern"]
    response = await client.delete(DYNAMIC, headers=changing(value, "k"))
    assert bool(re.search(pattern, value)) is (code(response) != "INVALID_PRECONDITION")


def test_a_write_says_which_precondition_it_needs(app: FastAPI) -> None:
    for operation in ("patch_document", "replace_document"):
        result = parameters(app, operation)
        assert "428" in result["If-Match"]["description"]
        assert "Exactly one of this and If-Match is required" in result["If-None-Match"]["description"]
    assert parameters(app, "delete_document")["If-Match"]["required"] is True


async def test_a_cursor_is_what_its_pattern_says(client: httpx.AsyncClient, app: FastAPI, etag: str) -> None:
    for name in ("a", "b"):
        path = f"{USER}/documents/projects/{name}.json"
        body = patch_body({"op": "add", "path": "/content/summary", "value": "x"}, binding_id="project_doc")
        assert (await client.patch(path, json=body, headers=creating(name))).status_code == 201
    listed = {name: parameters(app, name)["cursor"] for name in operations(app) if "cursor" in _names(app, name)}
    assert len(listed) >= 6
    (pattern,) = {one["schema"]["pattern"] for one in listed.values()}
    given = (await client.get(f"{USER}/documents", params={"limit": 1})).json()["next_cursor"]
    assert re.search(pattern, given)
    for bad in ("x y", "x=", "/", "ü"):
        assert not re.search(pattern, bad)
        assert code(await client.get(f"{USER}/documents", params={"cursor": bad})) == "INVALID_CURSOR"
    schema = app.openapi()["components"]["schemas"]["SearchBody"]["properties"]["cursor"]
    assert pattern in str(schema)


def _names(app: FastAPI, operation: str) -> set[str]:
    return {one["name"] for one in operations(app)[operation].get("parameters", [])}


async def test_an_integer_may_be_written_with_a_zero_fraction(client: httpx.AsyncClient, etag: str) -> None:
    body: dict[str, Any] = {"profile_id": "project-copilot-v1", "max_docs": 2.0, "max_chars_total": 163.0}
    assert (await client.post(f"{USER}/context:assemble", json=body)).status_code == 200
    body |= {"include_events": {"top_k": 1.0, "max_chars": 10.0}}
    assert (await client.post(f"{USER}/context:assemble", json=body)).status_code == 200
    assert (await client.post(f"{USER}/events:search", json={"top_k": 3.0})).status_code == 200
    for bad in (1.5, "1", True):
        assert (await client.post(f"{USER}/events:search", json={"top_k": bad})).status_code == 400
    evidence = {"conversation_id": "c", "span": {"start": 1.0, "end": 2}}
    response = await client.patch(DYNAMIC, json=patch_body(evidence=evidence), headers=changing(etag, "k"))
    assert response.status_code == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"])
async def test_a_verb_of_a_replay_takes_post_alone(client: httpx.AsyncClient, method: str) -> None:
    response = await client.request(method, f"{USER}/replays/rpl-1:retry")
    assert (response.status_code, response.headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize("query", ["dry_run=null", "dry_run=1", "as_of=yesterday"])
async def test_a_query_parameter_is_checked_as_well_as_the_body(client: httpx.AsyncClient, query: str) -> None:
    body = {"dry_run": True, "as_of": "2024-06-01T00:00:00Z"}
    response = await client.post(f"{USER}/retention:apply?{query}", json=body)
    assert (response.status_code, code(response)) == (400, "MALFORMED_REQUEST")


@pytest.mark.parametrize("place", [DYNAMIC, PROFILE, "/v1/schemas/memory.project/1.0.0"])
async def test_a_read_honours_if_match(client: httpx.AsyncClient, etag: str, place: str) -> None:
    known = (await client.get(place)).headers["ETag"]
    bare = known.strip('"')
    for matching in (known, f'"other", {known}', "*", bare):
        assert (await client.get(place, headers={"If-Match": matching})).status_code == 200, matching
    for other in ('"other"', f"W/{known}", f'"other", W/{known}', ""):
        # RFC 9110, 13.2.2: If-Match decides before If-None-Match.
        response = await client.get(place, headers={"If-Match": other, "If-None-Match": known})
        assert (response.status_code, code(response)) == (412, "ETAG_MISMATCH"), other
        assert response.json()["error"]["details"] == {"latest_etag": known}
    both = {"If-Match": known, "If-None-Match": known}
    assert (await client.get(place, headers=both)).status_code == 304
    assert (await client.get(f"{USER}/documents/user/none.json", headers={"If-Match": "*"})).status_code == 404
