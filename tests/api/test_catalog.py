"""Profiles and schemas over HTTP."""

from dataclasses import replace

import httpx
import pytest

from api.app import create_app
from api.identity import TokenValidator
from memnet.catalog import Catalog
from memnet.service import Service
from tests.api.conftest import code

PROFILES, COPILOT = "/v1/profiles", "/v1/profiles/project-copilot-v1"
SCHEMA = "/v1/schemas/memory.user.dynamic/1.0.0"
SHIPPED = [
    *("langgraph-store-v1", "personal-memory-v1", "project-copilot-v1", "support-desk-v1", "transcripts-v1"),
    *("tutor-v1", "workspace-memory-v1"),
]


async def test_profiles_are_listed_with_their_bindings(client: httpx.AsyncClient) -> None:
    result = (await client.get(PROFILES)).json()
    assert [row["profile_id"] for row in result["profiles"]] == SHIPPED
    assert result["next_cursor"] is None
    dynamic = result["profiles"][2]["document_bindings"][1]
    assert dynamic == {
        "binding_id": "user_dynamic",
        "namespace": "user",
        "path": "user_dynamic.json",
        "path_template": None,
        "schema_id": "memory.user.dynamic",
        "schema_version": "1.0.0",
        "max_chars": 18000,
        "read_priority": 20,
        "write_mode": "restricted_patch",
    }


async def test_a_profile_is_joined_with_its_base_and_names_it(client: httpx.AsyncClient, catalog: Catalog) -> None:
    result = (await client.get("/v1/profiles/tutor-v1")).json()["profile"]
    assert result == catalog.profiles["tutor-v1"].model_dump(mode="json")
    assert result["extends"] == "personal-memory-v1"
    assert {one["binding_id"] for one in result["document_bindings"]} == {"learner", "personal"}
    rows = (await client.get(PROFILES)).json()["profiles"]
    assert {row["profile_id"]: row["extends"] for row in rows if row["extends"]} == {"tutor-v1": "personal-memory-v1"}


async def test_the_list_has_pages(client: httpx.AsyncClient) -> None:
    first = (await client.get(PROFILES, params={"limit": 4})).json()
    second = (await client.get(PROFILES, params={"limit": 4, "cursor": first["next_cursor"]})).json()
    assert [row["profile_id"] for page in (first, second) for row in page["profiles"]] == SHIPPED
    assert second["next_cursor"] is None


async def test_a_profile_is_returned_with_its_defaults(client: httpx.AsyncClient, catalog: Catalog) -> None:
    response = await client.get(COPILOT)
    result = response.json()
    assert result["profile"] == catalog.profiles["project-copilot-v1"].model_dump(mode="json")
    assert result["profile"]["pending_sections"] == {"user_dynamic": "/pending_confirmations"}
    assert result["profile"]["upkeep_rules"]["user_dynamic"][2]["verified_field"] == "last_verified_at"
    assert result["etag"] == response.headers["ETag"]
    listed = (await client.get(PROFILES)).json()["profiles"][2]
    assert listed["etag"] == result["etag"]


async def test_a_schema_version_is_returned_as_registered(client: httpx.AsyncClient, catalog: Catalog) -> None:
    response = await client.get(SCHEMA)
    result = response.json()
    assert (result["schema_id"], result["schema_version"]) == ("memory.user.dynamic", "1.0.0")
    assert result["schema"] == catalog.schemas["memory.user.dynamic", "1.0.0"].body
    assert result["etag"] == response.headers["ETag"]


@pytest.mark.parametrize("url", [COPILOT, SCHEMA])
async def test_a_known_version_is_not_sent_again(client: httpx.AsyncClient, url: str) -> None:
    etag = (await client.get(url)).headers["ETag"]
    again = await client.get(url, headers={"If-None-Match": etag})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", etag)
    assert (await client.get(url, headers={"If-None-Match": '"another"'})).status_code == 200


@pytest.mark.parametrize(
    ("url", "status", "expected"),
    [
        ("/v1/profiles/none", 404, "PROFILE_NOT_FOUND"),
        ("/v1/profiles/.hidden", 400, "INVALID_IDENTIFIER"),
        ("/v1/schemas/memory.user.dynamic/9.9.9", 404, "SCHEMA_NOT_FOUND"),
        ("/v1/schemas/none/-", 400, "INVALID_IDENTIFIER"),
        ("/v1/schemas/none", 404, "ROUTE_NOT_FOUND"),
        ("/v1/profiles?limit=0", 400, "MALFORMED_REQUEST"),
        ("/v1/profiles?cursor=x", 400, "INVALID_CURSOR"),
    ],
)
async def test_missing_resources_have_their_error_codes(
    client: httpx.AsyncClient, url: str, status: int, expected: str
) -> None:
    response = await client.get(url)
    assert (response.status_code, code(response)) == (status, expected)


async def test_requests_are_counted_against_the_principal(
    client: httpx.AsyncClient, services: Service, validator: TokenValidator
) -> None:
    asked: list[tuple[str, str]] = []

    class Counting:
        async def take_of_principal(self, tenant_id: str, principal: str) -> None:
            asked.append((tenant_id, principal))

    counted = create_app(replace(services, quota=Counting()), validator)  # type: ignore[arg-type]
    transport = httpx.ASGITransport(counted)
    async with httpx.AsyncClient(transport=transport, base_url="http://memnet.test", headers=client.headers) as other:
        assert (await other.get(PROFILES)).status_code == 200
    assert asked == [("-", "svc-a")]
