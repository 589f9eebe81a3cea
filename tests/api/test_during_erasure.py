"""The API while a user's memory is erased: writes are refused, and reads do not fail."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from memnet.operations.governance.erase_user import Erased, erase_user
from memnet.paging import rows
from memnet.service import Service
from tests.api.conftest import DYNAMIC, USER, changing, code, creating, patch_body
from tests.api.erasing import (
    CONFLICT,
    SCOPE,
    SNAPSHOTS,
    THEN,
    accepted,
    drain,
    finish,
    live,
    names,
    only_accepted,
)
from tests.api.test_conflicts import ALPHA
from tests.api.test_governance import event
from tests.domain.replay_samples import BASE
from tests.domain.snapshot_samples import conversation_body


@pytest.fixture
async def lived(client: httpx.AsyncClient, services: Service, etag: str) -> dict[str, str]:
    """Store data of every kind; return its ETags and ids."""
    return await live(client, services, etag)


@pytest.fixture(autouse=True)
async def drained(services: Service) -> AsyncIterator[None]:
    """Wait for background work at the end of each test."""
    yield
    await drain(services)


# The moments of an erasure.


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


Moment = Callable[[Service], Awaitable[None]]
MOMENTS = pytest.mark.parametrize("moment", [only_accepted, keys_gone, all_gone])


def document_writes(lived: dict[str, str]) -> list[tuple[str, str, dict[str, Any], dict[str, str]]]:
    project = {"schema_id": "memory.project", "schema_version": "1.0.0", "content": BASE}
    put = {"profile_id": "project-copilot-v1", "binding_id": "project_doc", "document": project}
    beta = f"{USER}/documents/projects/beta.json"
    # With the current ETag, with an unknown one, and for a document that never existed.
    dynamic = [creating("k1"), changing(lived["dynamic"], "k2"), changing('"7-0000000000000000"', "k3")]
    alpha = [creating("k4"), changing(lived["alpha"], "k5"), changing('"7-0000000000000000"', "k6")]
    return [
        *(("PATCH", DYNAMIC, patch_body(), headers) for headers in dynamic),
        ("PATCH", DYNAMIC, patch_body(), creating()),  # The request that created it.
        *(("PUT", ALPHA, put, headers) for headers in alpha),
        *(("PUT", beta, put, headers) for headers in alpha),
        *(("DELETE", f"{path}?reason=over", {}, headers) for path in (ALPHA, beta) for headers in alpha[1:]),
    ]


@MOMENTS
async def test_every_write_is_refused(client: Any, services: Any, lived: Any, moment: Moment) -> None:
    await moment(services)
    before = await names(services)
    other = {**event("e-2", THEN), "digest": "Something else."}
    calls = [
        *document_writes(lived),
        *(("POST", f"{USER}/events", body, {}) for body in (event("e-1", THEN), event("e-2", THEN), other)),
        *(("POST", SNAPSHOTS, {**conversation_body(), "snapshot_id": one}, {}) for one in ("s_1", "s_2")),
        ("POST", f"{CONFLICT}:retry", {}, {}),
        ("POST", f"{CONFLICT}:discard", {"note": "over"}, {}),
        ("POST", f"{USER}/conflicts/cfl-never:retry", {}, {}),
        ("POST", f"{lived['replay']}:retry", {}, {}),
        ("POST", f"{USER}/replays/rpl-never:retry", {}, {}),
    ]
    for method, url, body, headers in calls:
        response = await client.request(method, url, json=body, headers=headers)
        assert (response.status_code, code(response)) == (409, "ERASURE_RUNNING"), (method, url, headers, response.text)
        await drain(services)
    assert await names(services) == before


@MOMENTS
async def test_other_users_are_not_affected(client: Any, services: Any, lived: Any, moment: Moment) -> None:
    await moment(services)
    theirs = f"{USER}0"
    for user in (theirs, "/v1/tenants/t1/users/u2"):
        url = DYNAMIC.replace(USER, user)
        made = await client.patch(url, json=patch_body(), headers=creating())
        assert made.status_code == 201
        changed = await client.patch(url, json=patch_body(), headers=changing(made.headers["ETag"], "next"))
        assert changed.status_code == 200
        assert (await client.post(f"{user}/events", json=event("e-1", THEN))).status_code == 201
        assert (await client.post(f"{user}/conversations/c_1/snapshots", json=conversation_body())).status_code == 202
    await drain(services)


READS = [
    ("GET", f"{USER}/documents"),
    ("GET", DYNAMIC),
    ("GET", f"{DYNAMIC}?as_of=2026-01-01T00:00:00Z"),
    ("GET", ALPHA),
    ("GET", f"{USER}/audit"),
    ("GET", f"{USER}/audit?namespace=projects&path=alpha.json"),
    ("POST", f"{USER}/events:search"),
    ("POST", f"{USER}/context:assemble"),
    ("GET", f"{SNAPSHOTS}/s_1"),
    ("GET", f"{USER}/accesses"),
    ("GET", f"{USER}/conflicts"),
    ("GET", f"{USER}/legal-hold"),
    ("POST", f"{USER}/retention:apply?dry_run=true"),
    ("POST", f"{USER}/retention:apply"),
]


def documented(app: FastAPI, method: str, url: str) -> set[str]:
    """The statuses that the OpenAPI says of this call."""
    path = url.partition("?")[0].replace("/tenants/t1/users/u1", "/tenants/{tenant_id}/users/{user_id}")
    for part, name in (
        ("/documents/", "/documents/{namespace}/{path}"),
        ("/c_1/", "/{conversation_id}/snapshots/{snapshot_id}"),
    ):
        if part in path:
            path = path.partition(part)[0] + name
    if "/replays/" in path:
        path = path.rpartition("/")[0] + "/{replay_id}"
    found: dict[str, Any] = app.openapi()["paths"][path][method.lower()]["responses"]
    return set(found)


@MOMENTS
async def test_reads_do_not_fail(client: Any, app: Any, services: Any, lived: Any, moment: Moment) -> None:
    await moment(services)
    failed = []
    for method, url in [*READS, ("GET", lived["replay"])]:
        body = {"profile_id": "project-copilot-v1", "input": "hello"} if "assemble" in url else {}
        response = await client.request(method, url, **({"json": body} if method == "POST" else {}))
        if response.status_code >= 500 or str(response.status_code) not in documented(app, method, url):
            failed.append((method, url, response.status_code, response.json()["error"]["code"]))
    assert failed == []
    await drain(services)


@MOMENTS
async def test_erased_data_is_not_shown(client: Any, services: Any, lived: Any, moment: Moment) -> None:
    await moment(services)
    assert (await client.get(f"{USER}/documents")).json()["documents"] == []
    assert (await client.get(f"{USER}/audit")).json()["records"] == []
    for url in (DYNAMIC, ALPHA):
        response = await client.get(url)
        assert (response.status_code, code(response)) == (404, "DOCUMENT_NOT_FOUND")


async def test_after_the_receipt_the_user_starts_from_scratch(client: Any, services: Any, lived: Any) -> None:
    await accepted(client)
    await finish(services)
    assert await names(services) == []
    made = await client.patch(DYNAMIC, json=patch_body(), headers=creating())
    assert made.status_code == 201
    assert made.json()["sequence"] == 1
    assert made.headers["ETag"] != lived["dynamic"]
    assert len((await client.get(f"{USER}/audit")).json()["records"]) == 1
    assert (await client.post(f"{USER}/events:search", json={})).json()["events"] == []
    for url in (lived["replay"], f"{SNAPSHOTS}/s_1"):
        assert (await client.get(url)).status_code == 404
    assert (await client.post(f"{USER}/events", json=event("e-1", THEN))).status_code == 201
    assert (await client.post(SNAPSHOTS, json=conversation_body())).status_code == 202
