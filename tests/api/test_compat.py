"""Routes of other memory services: which are served, who may call them, and what they answer."""

from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.routing import BaseRoute

from api.app import create_app
from api.compat.services import ROUTERS, check_profile, parse_compat
from api.identity import TokenValidator
from api.routing import DirectRoute
from memnet.catalog import Catalog
from memnet.domain.core.access import ROLES
from memnet.service import Service
from memnet.settings import Settings, SettingsError
from tests.api.conftest import ALL_ROLES, AUDIENCE, ISSUER, Token, bearer, code
from tests.api.test_signed_in_users import signed_in
from tests.operations.storage_calls import StorageCalls
from tests.sample_settings import sample_settings

TURN: dict[str, Any] = {
    "session_id": "smoke",
    "user_id": "u1",
    "messages": [{"role": "user", "content": "I just moved to Berlin"}],
    "timestamp": "2026-05-08T12:00:00Z",
    "metadata": {},
}
ADD: dict[str, Any] = {
    "external_user_id": "u1",
    "agent_id": "support-bot",
    "messages": [{"role": "user", "content": "I prefer weekly summaries."}],
    "metadata": {"source": "chat", "rank": 2},
}
RECALL: dict[str, Any] = {
    "query": "where does the user live?",
    "session_id": "smoke",
    "user_id": "u1",
    "max_tokens": 512,
}
SEARCH: dict[str, Any] = {"query": "Berlin", "user_id": "u1", "limit": 5}
RETRIEVE: dict[str, Any] = {"external_user_id": "u1", "query": "Where is Berlin?", "format": "xml", "limit": 5}
OPERATIONS = {
    ("GET", "/health"): "health_ready",
    ("POST", "/turns"): "store_turns",
    ("POST", "/recall"): "recall",
    ("POST", "/search"): "recall",
    ("GET", "/users/{user_id}/memories"): "list_entries",
    ("DELETE", "/users/{user_id}"): "request_erasure",
    ("DELETE", "/sessions/{session_id}"): "retract_conversation",
    ("POST", "/v1/memories/add"): "store_turns",
    ("POST", "/v1/memories/retrieve"): "recall",
}
OF_USERS = {place: operation for place, operation in OPERATIONS.items() if operation in ROLES}
BODIES = {
    "/turns": TURN,
    "/recall": RECALL,
    "/search": SEARCH,
    "/v1/memories/add": ADD,
    "/v1/memories/retrieve": RETRIEVE,
}


@pytest.fixture
def settings() -> Settings:
    return sample_settings(
        issuer_url=ISSUER,
        audience=AUDIENCE,
        compat="recall-service,memory-engine",
        compat_profile="personal-memory-v1",
        self_erasure_tenants="t1",
    )


def place(path: str, user: str = "u1") -> str:
    """The path of a route for a user; that of a session names the user in the query."""
    return f"/sessions/s1?user_id={user}" if "{session_id}" in path else path.format(user_id=user)


async def send(client: httpx.AsyncClient, method: str, path: str, token: str, user: str = "u1") -> httpx.Response:
    """Call a route for a user, with the body that it takes."""
    body = BODIES.get(path)
    named = body and {name: user if name.endswith("user_id") else value for name, value in body.items()}
    return await client.request(method, place(path, user), json=named, headers=bearer(token))


def places(route: BaseRoute) -> dict[tuple[str, str], str | None]:
    """The operation of a route by its method and path; nothing for a route of another kind."""
    if not isinstance(route, DirectRoute):
        return {}
    return {(method, route.path): route.operation_id for method in route.methods or ()}


def test_the_table_of_this_test_has_every_route() -> None:
    found = [places(route) for router in ROUTERS.values() for route in router.routes]
    assert {place: operation for one in found for place, operation in one.items()} == OPERATIONS


@pytest.mark.parametrize(
    ("text", "served"),
    [
        (None, set()),
        ("recall-service", {"recall-service"}),
        (" memory-engine , recall-service", {"memory-engine", "recall-service"}),
    ],
)
def test_the_setting_names_services(text: str | None, served: set[str]) -> None:
    assert parse_compat(text) == served


@pytest.mark.parametrize("text", ["recall", "recall-service,", "recall-service;memory-engine", "*", "Recall-Service"])
def test_an_unknown_service_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be names of memory-engine and recall-service"):
        parse_compat(text)


@pytest.mark.parametrize(
    ("profile_id", "fault"), [("none", "is not in the catalog"), ("support-desk-v1", "accepts no turns")]
)
def test_the_profile_must_accept_turns_if_a_service_is_named(catalog: Catalog, profile_id: str, fault: str) -> None:
    with pytest.raises(SettingsError, match=f"MEMNET_COMPAT_PROFILE: the profile {profile_id} {fault}"):
        check_profile(sample_settings(compat="memory-engine", compat_profile=profile_id), catalog)
    check_profile(sample_settings(compat_profile=profile_id), catalog)


def test_the_pipeline_must_be_one_of_the_profile(catalog: Catalog) -> None:
    chosen = sample_settings(compat="memory-engine", compat_profile="personal-memory-v1", compat_pipeline="fast")
    with pytest.raises(SettingsError, match=r"MEMNET_COMPAT_PIPELINE: the profile personal-memory-v1 has .*evidence"):
        check_profile(chosen, catalog)
    check_profile(replace(chosen, compat_pipeline="evidence"), catalog)
    check_profile(replace(chosen, compat=None), catalog)


class TestWithoutTheSetting:
    @pytest.fixture
    def settings(self) -> Settings:
        return sample_settings(issuer_url=ISSUER, audience=AUDIENCE)

    @pytest.mark.parametrize(("method", "path"), OPERATIONS)
    async def test_no_route_is_served(self, client: httpx.AsyncClient, token: Token, method: str, path: str) -> None:
        response = await send(client, method, path, token())
        assert (response.status_code, code(response)) == (404, "ROUTE_NOT_FOUND")


async def test_the_routes_of_one_service_come_alone(services: Service, validator: TokenValidator) -> None:
    for name, router in ROUTERS.items():
        app = create_app(replace(services, settings=sample_settings(compat=name)), validator)
        of_them = {place for route in app.router.routes for place in places(route)} & set(OPERATIONS)
        assert of_them == {place for route in router.routes for place in places(route)}


def test_they_are_not_in_the_openapi_document(app: FastAPI, services: Service, validator: TokenValidator) -> None:
    plain = create_app(replace(services, settings=sample_settings()), validator)
    assert app.openapi()["paths"] == plain.openapi()["paths"]


async def test_routes_that_are_not_served_answer_as_unknown_paths(client: httpx.AsyncClient) -> None:
    for method, path in (("POST", "/v1/memories/forget"), ("DELETE", "/sessions")):
        response = await client.request(method, path, json={})
        assert (response.status_code, code(response)) == (404, "ROUTE_NOT_FOUND")


async def test_health_needs_no_token(anonymous: httpx.AsyncClient) -> None:
    response = await anonymous.get("/health")
    assert (response.status_code, response.json()["status"]) == (200, "ok")


@pytest.mark.parametrize(("method", "path"), OF_USERS)
class TestAccess:
    async def test_a_token_is_required_before_the_body_is_read(
        self, anonymous: httpx.AsyncClient, method: str, path: str
    ) -> None:
        response = await anonymous.request(method, place(path), content=b"{not json")
        assert (response.status_code, code(response)) == (401, "UNAUTHENTICATED")
        other = {"Authorization": "ApiKey mem_0"}
        assert (await anonymous.request(method, place(path), headers=other)).status_code == 401

    async def test_the_roles_are_those_of_the_operation(
        self, client: httpx.AsyncClient, services: Service, token: Token, method: str, path: str
    ) -> None:
        storage = StorageCalls(services)
        for role in set(ALL_ROLES) - ROLES[OPERATIONS[method, path]]:
            response = await client.request(method, place(path), content=b"{not json", headers=bearer(token(role)))
            assert (response.status_code, code(response)) == (403, "ROLE_REQUIRED"), role
        assert storage.made == []

    @pytest.mark.parametrize("tenants", [["t1", "t2"], []])
    async def test_the_token_must_name_one_tenant(
        self, client: httpx.AsyncClient, services: Service, token: Token, method: str, path: str, tenants: list[str]
    ) -> None:
        storage = StorageCalls(services)
        response = await send(client, method, path, token(tid=tenants))
        assert (response.status_code, code(response)) == (403, "TENANT_FORBIDDEN")
        assert storage.made == []

    async def test_a_signed_in_user_reaches_only_the_own_memory(
        self, anonymous: httpx.AsyncClient, app: FastAPI, services: Service, token: Token, method: str, path: str
    ) -> None:
        # No worker runs here, so nothing would end the wait for a replay.
        app.state.concurrency_limit.drain()
        storage = StorageCalls(services)
        signed = signed_in(token)["Authorization"].removeprefix("Bearer ")
        response = await send(anonymous, method, path, signed, "u2")
        is_own = OPERATIONS[method, path] != "retract_conversation"
        assert (response.status_code, code(response)) == (403, "USER_FORBIDDEN" if is_own else "ROLE_REQUIRED")
        assert storage.made == []
        if not is_own:
            return
        assert (await send(anonymous, method, path, signed, "u1")).status_code in (200, 201, 202)

    async def test_an_id_that_is_none_is_refused(
        self, client: httpx.AsyncClient, token: Token, method: str, path: str
    ) -> None:
        response = await send(client, method, path, token(), "a b")
        assert response.status_code == 400
        assert code(response) in ("INVALID_IDENTIFIER", "MALFORMED_REQUEST")
