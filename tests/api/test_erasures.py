"""Erase a user's memory over HTTP: the request, the progress and the receipt."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from api.app import create_app
from api.identity import TokenValidator
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import Unavailable, VaultUnavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.core.signature import SigningKey
from memnet.domain.governance.erasure_receipt import is_signed, read_receipt
from memnet.operations.governance.erase_user import Erased, erase_user, erase_users
from memnet.service import Service
from tests.api.conftest import DYNAMIC, USER, changing, code, creating, patch_body
from tests.api.erasing import (
    ERASURES,
    MEMORY,
    SCOPE,
    SETTLED,
    THEN,
    accepted,
    advance,
    drain,
    finish,
    live,
    names,
    only_accepted,
    request,
    work,
)


@pytest.fixture
async def lived(client: httpx.AsyncClient, services: Service, etag: str) -> dict[str, str]:
    """Store data of every kind; return its ETags and ids."""
    return await live(client, services, etag)


@pytest.fixture(autouse=True)
async def drained(services: Service) -> AsyncIterator[None]:
    """Wait for background work at the end of each test."""
    yield
    await drain(services)


class TestRequest:
    async def test_it_is_accepted_and_run_by_a_timer(self, client: Any, services: Any, lived: Any) -> None:
        response = await request(client)
        assert response.status_code == 202
        result = response.json()
        assert result == {
            "erasure_id": result["erasure_id"],
            "status": "running",
            "accepted_at": THEN,
            "removed": {},
            "failing": {},
            "settled_at": SETTLED,
            "receipt": None,
        }
        await work(services)
        assert await names(services) == []
        result = (await client.get(f"{ERASURES}/{result['erasure_id']}")).json()
        assert (result["status"], result["failing"], result["receipt"]) == ("running", {}, None)
        assert result["removed"]["documents"] == 2
        assert result["removed"].keys() >= {"keys", "audit", "events", "snapshots", "replays", "conflicts", "accesses"}
        assert result["removed"].keys() >= {"marks", "index_documents", "messages"}

    async def test_an_idempotency_key_is_required(self, client: Any, services: Any, lived: Any) -> None:
        before = await names(services)
        for headers in ({}, {"Idempotency-Key": ""}, {"Idempotency-Key": "x" * 256}):
            response = await client.delete(MEMORY, headers=headers)
            assert (response.status_code, code(response)) == (400, "IDEMPOTENCY_KEY_REQUIRED")
        assert await names(services) == before
        assert await services.erasures.read(SCOPE) is None

    async def test_while_it_runs_the_same_request_returns_it_and_another_is_refused(
        self, client: Any, services: Any, lived: Any
    ) -> None:
        first = await accepted(client)
        for _ in ("at once", "when all is removed"):
            assert await accepted(client) == first
            response = await request(client, "forget-2")
            assert (response.status_code, code(response)) == (409, "ERASURE_RUNNING")
            assert response.json()["error"]["details"] == {"erasure_id": first}
            await work(services)
        await finish(services)
        made = await client.patch(DYNAMIC, json=patch_body(), headers=creating("afresh"))
        # Neither of them removes what has been written since.
        assert await accepted(client) == first
        assert (await client.get(DYNAMIC)).headers["ETag"] == made.headers["ETag"]

    async def test_the_key_of_an_ended_erasure_returns_its_receipt_and_removes_nothing(
        self, client: Any, services: Any, lived: Any
    ) -> None:
        erasure_id = await accepted(client)
        await finish(services)
        made = await client.patch(DYNAMIC, json=patch_body(), headers=creating("afresh"))
        assert made.status_code == 201
        response = await request(client)
        assert response.status_code == 202
        result = response.json()
        assert (result["erasure_id"], result["status"], result["settled_at"]) == (erasure_id, "complete", None)
        assert result["receipt"]["erasure_id"] == erasure_id
        await drain(services)
        advance(services)
        assert await erase_users(None, services) == {}
        assert (await client.get(DYNAMIC)).headers["ETag"] == made.headers["ETag"]


class TestGet:
    async def test_the_receipt_can_be_verified(self, client: Any, services: Any, lived: Any) -> None:
        erasure_id = await accepted(client)
        await finish(services)
        response = await client.get(f"{ERASURES}/{erasure_id}")
        assert response.status_code == 200
        result = response.json()
        assert (result["status"], result["failing"], result["settled_at"]) == ("complete", {}, None)
        receipt = read_receipt(canonical(result["receipt"]))
        (key,) = await services.signing.public_keys()
        assert is_signed(receipt, key)
        assert receipt.is_of(SCOPE)
        assert receipt.members["requested_by"] == "svc-a"
        assert result["removed"] == result["receipt"]["removed"]
        assert receipt.data == await services.erasures.read_receipt("t1", erasure_id)

    async def test_a_partial_erasure_lists_what_remains_and_why(self, client: Any, services: Any, lived: Any) -> None:
        assert (await client.put(f"{USER}/legal-hold", json={"reason": "case 1"})).status_code == 200
        before = await names(services)
        response = await request(client)
        assert response.status_code == 202
        result = response.json()
        assert (await client.get(f"{ERASURES}/{result['erasure_id']}")).json() == result
        assert (result["status"], result["removed"], result["settled_at"]) == ("partial", {}, None)
        remains = {one["kind"]: one for one in result["receipt"]["remaining"]}
        assert remains["documents"] == {
            "kind": "documents",
            "count": 2,
            "reason": "legal_hold",
            "covers": "user",
            "until": None,
        }
        assert await names(services) == before
        changed = await client.patch(DYNAMIC, json=patch_body(), headers=changing(lived["dynamic"], "goes-on"))
        assert changed.status_code == 200

    async def test_while_it_runs_no_hold_is_placed_on_the_user(self, client: Any, services: Any, lived: Any) -> None:
        await accepted(client)
        response = await client.put(f"{USER}/legal-hold", json={"reason": "case 1"})
        assert (response.status_code, code(response)) == (409, "ERASURE_RUNNING")
        assert (await client.get(f"{USER}/legal-hold")).json() == {"held": False, "holds": [], "changes": []}
        await finish(services)
        assert (await client.put(f"{USER}/legal-hold", json={"reason": "case 1"})).status_code == 200

    async def test_an_erasure_of_another_user_is_not_found(self, client: Any, services: Any, lived: Any) -> None:
        erasure_id = await accepted(client)
        for _ in ("while it runs", "after it has ended"):
            for user in ("u10", "u", "u2"):
                response = await client.get(f"/v1/tenants/t1/users/{user}/erasures/{erasure_id}")
                assert (response.status_code, code(response)) == (404, "ERASURE_NOT_FOUND")
            assert (await client.get(f"{ERASURES}/{erasure_id}")).status_code == 200
            if await services.erasures.read(SCOPE) is not None:
                await finish(services)
        response = await client.get(f"{ERASURES}/never")
        assert (response.status_code, code(response)) == (404, "ERASURE_NOT_FOUND")
        response = await client.get(f"{ERASURES}/.x")
        assert (response.status_code, code(response)) == (400, "INVALID_IDENTIFIER")


# What fails.


class VaultDown:
    """A vault that gives no key to sign with."""

    async def newest(self) -> SigningKey:
        raise VaultUnavailable()

    async def public_keys(self) -> list[Any]:
        raise VaultUnavailable()

    async def rotate(self) -> SigningKey:
        raise VaultUnavailable()


async def test_without_a_vault_no_erasure_starts(
    client: Any, services: Any, validator: TokenValidator, lived: Any
) -> None:
    before = await names(services)
    without = create_app(replace(services, signing=VaultDown()), validator)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(without), base_url="http://memnet.test") as asked:
        asked.headers["Authorization"] = client.headers["Authorization"]
        response = await request(asked)
    assert (response.status_code, code(response)) == (503, "VAULT_UNAVAILABLE")
    assert await services.erasures.read(SCOPE) is None
    assert await names(services) == before
    assert (await client.get(DYNAMIC)).headers["ETag"] == lived["dynamic"]
    changed = await client.patch(DYNAMIC, json=patch_body(), headers=changing(lived["dynamic"], "goes-on"))
    assert changed.status_code == 200


async def test_a_failing_store_is_reported_until_it_succeeds(client: Any, services: Any, lived: Any) -> None:
    inner = services.queue

    class Down:
        def __getattr__(self, name: str) -> Any:
            return getattr(inner, name)

        async def purge(self, scope: UserScope) -> int:
            raise Unavailable(dependency="service_bus")

    failing = replace(services, queue=Down())
    await only_accepted(services)
    assert await erase_user(SCOPE, failing) is Erased.FAILING
    erasure_id = await accepted(client, "forget-1")
    await work(services)
    result = (await client.get(f"{ERASURES}/{erasure_id}")).json()
    assert (result["status"], result["failing"]) == ("running", {})
    assert await erase_user(SCOPE, failing) is Erased.FAILING
    result = (await client.get(f"{ERASURES}/{erasure_id}")).json()
    assert (result["status"], result["failing"]) == ("running", {"queues": "UNAVAILABLE"})
