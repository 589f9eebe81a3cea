"""Callers that reach one user: signed-in users, by delegated tokens, and requests bound to a user in this process."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from memnet.domain.core.access import ROLES, SHARED, Role, roles_of
from memnet.service import Service
from tests.api.conftest import ALL_ROLES, DYNAMIC, Token, bearer, changing, code, creating, patch_body
from tests.api.every_route import call, of_tenants, operations
from tests.operations.storage_calls import StorageCalls

APPLICATION = "app-editor"
READ, WRITE = "Memory.Read", "Memory.ReadWrite"
GRANTED = {READ: {Role.READ}, WRITE: {Role.READ, Role.WRITE}}
USER = "/v1/tenants/t1/users/{user_id}"


def signed_in(token: Token, scopes: str = WRITE, **claims: Any) -> dict[str, str]:
    """The header of user u1 in tenant t1."""
    return bearer(token(**{"scp": scopes, "oid": "u1", "azp": APPLICATION, "roles": None, **claims}))


class Bound:
    """The application as this process calls it for an admitted user."""

    def __init__(self, app: FastAPI, *bound: str) -> None:
        self._app, self._bound = app, bound

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, "memnet.bound": self._bound}, receive, send)


@pytest.fixture
async def bound(app: FastAPI, token: Token) -> AsyncIterator[httpx.AsyncClient]:
    """A service that may do everything in t1 and t2, bound to u1 of t1."""
    headers = bearer(token(tid=["t1", "t2"]))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(Bound(app, "t1", "u1")), base_url="http://memnet.test", headers=headers
    ) as client:
        yield client


async def refused_everywhere_else(client: httpx.AsyncClient, app: FastAPI, services: Service) -> None:
    """Call every route for another user, another tenant, a whole tenant and the service."""
    storage = StorageCalls(services)
    elsewhere = ({"user_id": "u2"}, {"tenant_id": "t2"}, {"tenant_id": "t2", "user_id": "u2"})
    for method, path, operation in operations(app):
        if operation in (*SHARED, "get_me"):
            continue
        for values in elsewhere if path.startswith(USER.replace("t1", "{tenant_id}")) else ({},):
            response = await call(client, method, path, **values)
            assert (response.status_code, code(response)) == (403, "USER_FORBIDDEN"), (method, path, values)
    assert storage.made == []


@pytest.mark.parametrize("scopes", [READ, WRITE, f"{READ} {WRITE}", "access Memory.Read", "unknown", ""])
@pytest.mark.parametrize("roles", [None, list(ALL_ROLES)])
async def test_a_signed_in_user_reaches_nothing_but_the_own_memory(
    anonymous: httpx.AsyncClient, app: FastAPI, token: Token, services: Service, scopes: str, roles: Any
) -> None:
    anonymous.headers.update(signed_in(token, scopes, roles=roles))
    await refused_everywhere_else(anonymous, app, services)


async def test_a_bound_request_reaches_nothing_but_the_memory_of_its_user(
    bound: httpx.AsyncClient, app: FastAPI, services: Service
) -> None:
    await refused_everywhere_else(bound, app, services)


async def test_a_bound_request_keeps_the_roles_of_its_token(bound: httpx.AsyncClient, app: FastAPI) -> None:
    for method, path, operation in operations(app):
        if path.startswith("/v1/tenants/{tenant_id}/users/") or operation in SHARED:
            assert (await call(bound, method, path)).status_code not in (401, 403), operation


async def test_a_token_and_a_bound_user_that_differ_reach_nothing(
    app: FastAPI, token: Token, services: Service
) -> None:
    transport = httpx.ASGITransport(Bound(app, "t1", "u2"))
    async with httpx.AsyncClient(transport=transport, base_url="http://memnet.test") as client:
        client.headers.update(signed_in(token))
        await refused_everywhere_else(client, app, services)
        for method, path, _ in of_tenants(app):
            assert code(await call(client, method, path)) == "USER_FORBIDDEN"


@pytest.mark.parametrize("roles", [None, list(ALL_ROLES)])
@pytest.mark.parametrize("scope", [READ, WRITE])
async def test_a_scope_grants_its_roles_and_no_other(
    anonymous: httpx.AsyncClient, app: FastAPI, token: Token, scope: str, roles: Any
) -> None:
    anonymous.headers.update(signed_in(token, f"openid {scope}", roles=roles))
    for method, path, operation in operations(app):
        if not path.startswith("/v1/tenants/{tenant_id}/users/") and operation not in SHARED:
            continue
        response = await call(anonymous, method, path)
        if roles_of(operation, own=True) & GRANTED[scope] and operation != "request_erasure":
            assert response.status_code not in (401, 403), operation
        elif operation == "request_erasure" and scope == WRITE:
            assert (response.status_code, code(response)) == (400, "IDEMPOTENCY_KEY_REQUIRED")
        else:
            assert (response.status_code, code(response)) == (403, "ROLE_REQUIRED"), operation


async def test_an_unknown_scope_grants_nothing(anonymous: httpx.AsyncClient, app: FastAPI, token: Token) -> None:
    anonymous.headers.update(signed_in(token, "Memory.Admin Memory.Write", roles=list(ALL_ROLES)))
    for method, path, operation in operations(app):
        is_own = "{user_id}" in path or operation in (*SHARED, "get_me")
        expected = "ROLE_REQUIRED" if is_own else "USER_FORBIDDEN"
        assert code(await call(anonymous, method, path)) == expected, operation


async def test_with_the_operators_scope_the_app_roles_count(
    anonymous: httpx.AsyncClient, app: FastAPI, token: Token
) -> None:
    anonymous.headers.update(signed_in(token, "access", roles=["Memory.Admin"]))
    for method, path, operation in operations(app):
        response = await call(anonymous, method, path, user_id="u2")
        assert (response.status_code == 403) == (Role.ADMIN not in ROLES[operation]), operation


async def test_earlier_versions_are_refused_as_to_every_role_without_the_audit(
    anonymous: httpx.AsyncClient, token: Token
) -> None:
    response = await anonymous.get(f"{DYNAMIC}?as_of=2026-01-01T00:00:00Z", headers=signed_in(token))
    assert code(response) == "ROLE_REQUIRED"
    response = await anonymous.get(
        f"{DYNAMIC.replace('u1', 'u2')}?as_of=2026-01-01T00:00:00Z", headers=signed_in(token)
    )
    assert code(response) == "USER_FORBIDDEN"


async def test_the_audit_names_the_person_and_the_application(client: httpx.AsyncClient, token: Token) -> None:
    made = await client.patch(DYNAMIC, json=patch_body(), headers={**creating(), **signed_in(token)})
    assert made.status_code == 201
    read = await client.get(DYNAMIC, headers=signed_in(token))
    assert read.json()["document"]["updated_by"] == "u1"
    by_service = await client.patch(DYNAMIC, json=patch_body(), headers=changing(made.headers["ETag"], "k2"))
    assert by_service.status_code == 200
    records = (await client.get("/v1/tenants/t1/users/u1/audit")).json()["records"]
    named = {record["sequence"]: (record["actor"], record["application"]) for record in records}
    assert named == {1: ("u1", APPLICATION), 2: ("svc-a", None)}


async def test_a_person_confirms_a_product_s_proposal_and_no_own_one_through_any_application(
    client: httpx.AsyncClient, token: Token
) -> None:
    guess = {
        "id": "f1",
        "text": "Lives in Bern.",
        "confidence": 0.4,
        "evidence": {"conversation_id": "c1", "message_ids": ["m1"]},
        "last_verified_at": "2026-01-01T00:00:00Z",
    }
    etag = None
    for number, proposer in enumerate((signed_in(token), {})):
        op = {"op": "add", "path": "/content/durable_facts/-", "value": {**guess, "id": f"f{number}"}}
        condition = creating(f"k{number}") if etag is None else changing(etag, f"k{number}")
        made = await client.patch(DYNAMIC, json=patch_body(op, confidence=0.4), headers={**condition, **proposer})
        assert made.is_success, made.text
        etag = made.headers["ETag"]
    rows = (await client.get("/v1/tenants/t1/users/u1/pending")).json()["pending"]
    decided = []
    for row in sorted(rows, key=lambda one: str(one["item"]["proposed_by"])):
        body = {"namespace": row["namespace"], "path": row["path"], "confidence": 0.95, "evidence": guess["evidence"]}
        headers = {**signed_in(token, azp="app-other"), "Idempotency-Key": row["item"]["id"]}
        url = f"/v1/tenants/t1/users/u1/pending/{row['item']['id']}:confirm"
        response = await client.post(url, json=body, headers=headers)
        decided.append((row["item"]["proposed_by"], response.status_code))
    assert decided == [("svc-a", 200), ("u1", 403)]


async def test_a_signed_in_user_speaks_for_no_one_else(
    anonymous: httpx.AsyncClient, token: Token, services: Service
) -> None:
    anonymous.headers.update(signed_in(token, WRITE))
    storage = StorageCalls(services)
    said = {"turn_id": "t1", "messages": [{"role": "user", "content": "Our release day is Friday."}]}
    for user_id, status, expected in (("u2", 403, "USER_FORBIDDEN"), ("u1", 404, "CLAIMANT_NOT_FOUND")):
        turns = {"profile_id": "workspace-memory-v1", "turns": [{**said, "claimant": {"user_id": user_id}}]}
        stored = await anonymous.post("/v1/tenants/t1/users/u1/conversations/c1/turns", json=turns)
        assert (stored.status_code, code(stored)) == (status, expected)
        body = {"profile_id": "workspace-memory-v1", "binding_id": "workspace", "ops": [], "reason": "live_update"}
        patched = await anonymous.patch(
            "/v1/tenants/t1/users/u1/documents/workspace/shared.json",
            json={**body, "claimant": {"user_id": user_id}},
            headers={"If-None-Match": "*", "Idempotency-Key": "k1"},
        )
        assert (patched.status_code, code(patched)) == (status, expected)
    assert not [one for one in storage.made if "put" in str(one).lower()]
