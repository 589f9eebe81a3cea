"""Erase a user's memory over HTTP: the request, the receipt, and what the API answers meanwhile."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import Any

import httpx
import pytest

from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.process.background import BackgroundTasks
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.governance.erasure_receipt import is_signed, read_receipt
from memnet.operations.governance.erase_user import Erased, erase_user, erase_users
from memnet.operations.governance.erasure_request import request_erasure
from memnet.operations.replay.proposals import create_conflict
from memnet.paging import rows
from memnet.service import Service
from tests.api.conftest import DYNAMIC, USER, changing, code, creating
from tests.api.test_conflicts import ALPHA, write
from tests.api.test_governance import event
from tests.domain.replay_samples import BASE, details, proposal
from tests.domain.snapshot_samples import conversation_body

MEMORY, ERASURES = f"{USER}/memory", f"{USER}/erasures"
SCOPE = UserScope("t1", "u1")
THEN = "2026-01-01T00:00:00.000000Z"
SETTLED = "2026-01-01T00:16:00.000000Z"
SNAPSHOTS = f"{USER}/conversations/c_1/snapshots"
CONFLICT = f"{USER}/conflicts/cfl-rpl-1-1"


async def drain(services: Service) -> None:
    assert isinstance(services.background, BackgroundTasks)
    await services.background.drain()


async def live(client: httpx.AsyncClient, services: Service) -> str:
    """Store data of every kind; return the address of the replay."""
    first = await write(client, BASE, creating())
    await create_conflict(proposal(base_etag=first), details(), services, rebases=1)
    await write(client, {**BASE, "summary": "Another"}, changing(first, "second"))
    assert (await client.post(f"{USER}/events", json=event("e-1", THEN))).status_code == 201
    replay = await client.post(SNAPSHOTS, json=conversation_body())
    assert replay.status_code == 202
    assert (await client.get(f"{SNAPSHOTS}/s_1")).status_code == 200
    await drain(services)
    return str(replay.headers["Location"])


async def request(client: httpx.AsyncClient, key: str = "forget-1") -> httpx.Response:
    return await client.delete(MEMORY, headers={"Idempotency-Key": key})


def advance(services: Service, seconds: float = 960) -> None:
    assert isinstance(services.clock, FrozenClock)
    services.clock.advance(timedelta(seconds=seconds))


async def work(services: Service) -> None:
    """Run the timer at once."""
    await drain(services)
    await erase_users(None, services)


async def names(services: Service) -> list[str]:
    return [found.name async for found in rows(partial(services.user_storage.list, SCOPE))]


async def only_accepted(services: Service) -> None:
    """The fence exists and the documents are empty; nothing is removed yet."""
    actor = Actor("svc-privacy", frozenset())
    await request_erasure(SCOPE, services, idempotency_key="forget-1", actor=actor)


@pytest.fixture
async def lived(client: httpx.AsyncClient, services: Service, etag: str) -> str:
    """Store data of every kind; return the address of the replay."""
    return await live(client, services)


@pytest.fixture(autouse=True)
async def drained(services: Service) -> AsyncIterator[None]:
    """Wait for background work at the end of each test."""
    yield
    await drain(services)


async def test_it_is_accepted_and_run_by_a_timer(client: Any, services: Any, lived: Any) -> None:
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
    refused = await request(client, "forget-2")
    assert (refused.status_code, code(refused)) == (409, "ERASURE_RUNNING")
    assert refused.json()["error"]["details"] == {"erasure_id": result["erasure_id"]}
    held = await client.put(f"{USER}/legal-hold", json={"reason": "case 1"})
    assert (held.status_code, code(held)) == (409, "ERASURE_RUNNING")
    await work(services)
    assert await names(services) == []
    result = (await client.get(f"{ERASURES}/{result['erasure_id']}")).json()
    assert (result["status"], result["failing"], result["receipt"]) == ("running", {}, None)
    assert result["removed"]["documents"] == 2


async def test_an_idempotency_key_is_required(client: Any, services: Any, lived: Any) -> None:
    before = await names(services)
    for headers in ({}, {"Idempotency-Key": ""}, {"Idempotency-Key": "x" * 256}):
        response = await client.delete(MEMORY, headers=headers)
        assert (response.status_code, code(response)) == (400, "IDEMPOTENCY_KEY_REQUIRED")
    assert await names(services) == before
    assert await services.erasures.read(SCOPE) is None


async def test_the_receipt_can_be_verified(client: Any, services: Any, lived: Any) -> None:
    erasure_id = (await request(client)).json()["erasure_id"]
    await work(services)
    advance(services)
    assert await erase_users(None, services) == {Erased.FINISHED: 1}
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


@pytest.mark.parametrize(
    ("erasure_id", "status", "expected"), [("never", 404, "ERASURE_NOT_FOUND"), (".x", 400, "INVALID_IDENTIFIER")]
)
async def test_an_unknown_erasure_is_refused(client: Any, erasure_id: str, status: int, expected: str) -> None:
    response = await client.get(f"{ERASURES}/{erasure_id}")
    assert (response.status_code, code(response)) == (status, expected)


async def keys_gone(services: Service) -> None:
    """The keys are removed first: the rest cannot be decrypted."""
    await only_accepted(services)
    async for found in rows(partial(services.user_storage.list, SCOPE)):
        if found.name.startswith(f"{SCOPE.prefix}keys/"):
            await services.user_storage.delete(SCOPE, found, known_at=services.clock.now())


async def all_gone(services: Service) -> None:
    """Everything is removed; the quiescence time has not passed."""
    await only_accepted(services)
    assert await erase_user(SCOPE, services) is Erased.WAITING


@pytest.mark.parametrize("moment", [only_accepted, keys_gone, all_gone])
async def test_reads_do_not_fail_meanwhile(
    client: Any, services: Any, lived: Any, moment: Callable[[Service], Awaitable[None]]
) -> None:
    await moment(services)
    for url in (
        "documents",
        "audit",
        "audit?namespace=projects&path=alpha.json",
        "accesses",
        "conflicts",
        "legal-hold",
    ):
        assert (await client.get(f"{USER}/{url}")).status_code == 200, url
    for url in (DYNAMIC, f"{DYNAMIC}?as_of=2026-01-01T00:00:00Z", ALPHA):
        assert (await client.get(url)).status_code == 404, url
    for url in (f"{SNAPSHOTS}/s_1", lived):
        assert (await client.get(url)).status_code in (200, 404, 409), url
    for url, body in (
        ("events:search", {}),
        ("context:assemble", {"profile_id": "project-copilot-v1"}),
        ("retention:apply?dry_run=true", {}),
    ):
        assert (await client.post(f"{USER}/{url}", json=body)).status_code in (200, 409), url
