"""Erase a tenant over HTTP."""

import httpx

from memnet.operations.governance.erase_tenant import erase_tenants
from memnet.operations.governance.erase_user import erase_users
from memnet.service import Service
from tests.api.conftest import USER, code
from tests.api.test_erasures import advance, drain, live
from tests.api.test_governance import event

TENANT = "/v1/tenants/t1"


async def test_it_ends_with_a_receipt_and_every_write_is_refused(
    client: httpx.AsyncClient, services: Service, etag: str
) -> None:
    await live(client, services)
    assert code(await client.get(f"{TENANT}/erasure")) == "ERASURE_NOT_FOUND"
    for query in ("", "?confirm=t2", "?confirm="):
        response = await client.delete(f"{TENANT}/memory{query}")
        assert (response.status_code, code(response)) == (400, "MALFORMED_REQUEST")
    accepted = await client.delete(f"{TENANT}/memory?confirm=t1")
    assert (accepted.status_code, accepted.json()["status"]) == (202, "running")
    refused = [
        await client.post(f"{USER}/events", json=event("e-9", "2026-01-01T00:00:00.000000Z")),
        await client.post(f"{TENANT}/users/u9/events", json=event("e-9", "2026-01-01T00:00:00.000000Z")),
        await client.post(f"{TENANT}/search:reindex"),
    ]
    assert [(one.status_code, code(one)) for one in refused] == [(409, "TENANT_ENDED")] * 3
    for number in range(4):
        advance(services, 960 if number else 0)
        await drain(services)
        await erase_tenants(services)
        await erase_users(None, services)
    result = (await client.get(f"{TENANT}/erasure")).json()
    assert (result["status"], result["users"], result["receipt"]["users_held"]) == ("complete", 1, [])
    assert (await client.delete(f"{TENANT}/memory?confirm=t1")).json() == result


async def test_a_hold_on_the_tenant_refuses_it(client: httpx.AsyncClient) -> None:
    assert (await client.put(f"{TENANT}/legal-hold", json={"reason": "litigation"})).status_code == 200
    response = await client.delete(f"{TENANT}/memory?confirm=t1")
    assert (response.status_code, code(response)) == (409, "TENANT_HELD")
