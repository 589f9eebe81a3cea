"""A conversation is taken back over HTTP: planned by a dry run, then applied, and then it accepts no more turns."""

from typing import Any

import httpx
import pytest

from memnet.adapters.memory.queue import MemoryQueue
from memnet.domain.core.job import Job, JobKind
from memnet.operations.governance.run_retraction import run_retraction
from memnet.service import Service
from tests.api.conftest import USER, Token, bearer, code
from tests.domain.snapshot_samples import conversation_body

CONVERSATION = f"{USER}/conversations/c_1"
REASON = "It was poisoned."


async def retract(client: httpx.AsyncClient, path: str = CONVERSATION, **params: str) -> httpx.Response:
    headers = {"Idempotency-Key": params.pop("key", "k1")}
    return await client.delete(path, params={"reason": REASON} | params, headers=headers)


async def store(client: httpx.AsyncClient, snapshot_id: str = "s_1") -> httpx.Response:
    body: dict[str, Any] = {**conversation_body(), "snapshot_id": snapshot_id}
    return await client.post(f"{CONVERSATION}/snapshots", json=body)


async def stored(client: httpx.AsyncClient) -> list[str]:
    rows = (await client.get(f"{USER}/conversations")).json()["conversations"]
    return [row["conversation_id"] for row in rows]


async def received(services: Service) -> Any:
    assert isinstance(services.queue, MemoryQueue)
    return await services.queue.receive(JobKind.RETRACTION)


async def test_a_dry_run_plans_and_changes_nothing(client: httpx.AsyncClient, services: Service) -> None:
    assert (await store(client)).status_code == 202
    planned = await retract(client, dry_run="true")
    assert (planned.status_code, planned.json()["status"]) == (202, "planned")
    assert planned.json()["applied_by"] is None
    plan = await client.get(planned.headers["Location"])
    assert (planned.json(), planned.headers["ETag"]) == (plan.json(), plan.json()["etag"])
    assert plan.json()["source"] == {"kind": "conversation", "conversation_id": "c_1"}
    assert ("snapshot", "c_1/s_1") in [(item["kind"], item["name"]) for item in plan.json()["items"]]
    assert await received(services) is None
    assert await stored(client) == ["c_1"]
    assert (await store(client, "s_2")).status_code == 202


async def test_it_is_applied_once_and_closes_the_conversation(client: httpx.AsyncClient, services: Service) -> None:
    assert (await store(client)).status_code == 202
    planned = await retract(client, dry_run="true")
    begun = await retract(client)
    found = begun.json()
    assert (begun.status_code, found["status"]) == (202, "applying")
    assert found["retraction_id"] == planned.json()["retraction_id"]
    assert begun.headers["Location"] == f"{USER}/retractions/{found['retraction_id']}"
    job = Job(JobKind.RETRACTION, "t1", "u1", found["retraction_id"])
    assert await received(services) == (job, 1)
    again = await retract(client)
    assert (again.status_code, again.json()) == (202, found)
    assert await received(services) is None
    await run_retraction(job, services)
    ended = await retract(client)
    assert (ended.status_code, ended.json()["status"]) == (202, "applied")
    assert await stored(client) == []
    refused = await store(client, "s_2")
    assert (refused.status_code, code(refused)) == (409, "SOURCE_RETRACTED")


@pytest.mark.parametrize("params", [{"reason": ""}, {"reason": "x" * 1001}, {"dry_run": "perhaps"}])
async def test_parameters_that_are_wrong_are_refused(client: httpx.AsyncClient, params: dict[str, str]) -> None:
    response = await retract(client, **params)
    assert (response.status_code, code(response)) == (400, "MALFORMED_REQUEST")
    assert (await client.get(f"{USER}/retractions")).json()["retractions"] == []


async def test_it_needs_a_key_of_its_own_and_a_possible_id(client: httpx.AsyncClient) -> None:
    without = await client.delete(CONVERSATION, params={"reason": REASON})
    assert (without.status_code, code(without)) == (400, "IDEMPOTENCY_KEY_REQUIRED")
    unknown = await retract(client)
    assert (unknown.status_code, code(unknown)) == (404, "USER_NOT_FOUND")
    assert (await store(client)).status_code == 202
    assert (await retract(client, dry_run="true")).status_code == 202
    for path, reason in ((f"{USER}/conversations/c_2", REASON), (CONVERSATION, "Another reason.")):
        reused = await retract(client, path, reason=reason)
        assert (reused.status_code, code(reused)) == (409, "IDEMPOTENCY_KEY_REUSED")
    wrong = await retract(client, f"{USER}/conversations/-c~", key="k2")
    assert (wrong.status_code, code(wrong)) == (400, "INVALID_IDENTIFIER")


async def test_a_legal_hold_refuses_it(client: httpx.AsyncClient) -> None:
    assert (await client.put(f"{USER}/legal-hold", json={"reason": "A case."})).status_code == 200
    refused = await retract(client)
    assert (refused.status_code, code(refused)) == (409, "USER_HELD")


async def test_only_administrators_take_a_conversation_back(client: httpx.AsyncClient, token: Token) -> None:
    headers = bearer(token("Memory.Write", "Memory.Audit")) | {"Idempotency-Key": "k1"}
    refused = await client.delete(CONVERSATION, params={"reason": REASON}, headers=headers)
    assert (refused.status_code, code(refused)) == (403, "ROLE_REQUIRED")
