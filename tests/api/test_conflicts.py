"""Conflicts over HTTP: list, retry, discard."""

from typing import Any

import httpx
import pytest

from memnet.domain.core.scope import ETag
from memnet.operations.replay.proposals import create_conflict
from memnet.service import Service
from tests.api.conftest import USER, changing, code, creating
from tests.domain.replay_samples import BASE, details, proposal

CONFLICTS = f"{USER}/conflicts"
ALPHA = f"{USER}/documents/projects/alpha.json"
ONE = f"{CONFLICTS}/cfl-rpl-1-1"


async def write(client: httpx.AsyncClient, content: dict[str, Any], headers: dict[str, str]) -> ETag:
    document = {"schema_id": "memory.project", "schema_version": "1.0.0", "content": content}
    body = {"profile_id": "project-copilot-v1", "binding_id": "project_doc", "document": document}
    response = await client.put(ALPHA, json=body, headers=headers)
    assert response.is_success, response.text
    return ETag(response.headers["ETag"])


@pytest.fixture
async def etag(client: httpx.AsyncClient, services: Service) -> ETag:
    """The document's version with another summary than the one that a replay has seen; the conflict is there, too."""
    first = await write(client, BASE, creating())
    await create_conflict(proposal(base_etag=first), details(), services, rebases=1)
    return await write(client, {**BASE, "summary": "Another"}, changing(first, "second"))


@pytest.mark.usefixtures("etag")
async def test_they_are_listed_with_their_three_versions(client: httpx.AsyncClient) -> None:
    response = await client.get(CONFLICTS)
    assert response.status_code == 200
    body = response.json()
    assert body["next_cursor"] is None
    (conflict,) = body["conflicts"]
    assert (conflict["conflict_id"], conflict["status"], conflict["reason"]) == ("cfl-rpl-1-1", "open", "changed")
    assert conflict["base"]["content"] == BASE
    assert conflict["ours"]["ops"][0]["value"] == "The retrieval rewrite"
    assert conflict["theirs"]["content"]["summary"] == "Another"
    assert (conflict["confidence"], conflict["evidence"]["message_ids"]) == (0.75, ["m1"])
    assert "sealed" not in conflict


async def test_a_retry_that_succeeds_answers_the_resolved_conflict(client: httpx.AsyncClient, etag: ETag) -> None:
    await write(client, BASE, changing(etag, "third"))
    response = await client.post(f"{ONE}:retry")
    assert response.status_code == 200
    conflict = response.json()
    assert (conflict["status"], conflict["next_attempt_at"]) == ("resolved", None)
    assert [(decision["asked"], decision["by"]) for decision in conflict["decisions"]] == [("retry", "svc-a")]
    record = (await client.get(f"{USER}/audit")).json()["records"][-1]
    assert record["change_id"] == conflict["change_id"]
    assert (record["lineage"], record["actor"]) == (conflict["idempotency_key"], "memnet-worker")
    assert (await client.get(ALPHA)).json()["document"]["content"]["summary"] == "The retrieval rewrite"
    again = await client.post(f"{ONE}:retry")
    assert (again.status_code, code(again)) == (409, "CONFLICT_CLOSED")
    assert again.json()["error"]["details"] == {"status": "resolved"}


@pytest.mark.usefixtures("etag")
@pytest.mark.parametrize(("body", "note"), [({"json": {"note": "theirs is right"}}, "theirs is right"), ({}, None)])
async def test_a_discarded_conflict_is_closed(
    client: httpx.AsyncClient, services: Service, body: dict[str, Any], note: str | None
) -> None:
    response = await client.post(f"{ONE}:discard", **body)
    assert response.status_code == 200
    conflict = response.json()
    assert conflict["status"] == "discarded"
    assert (conflict["decisions"][0]["by"], conflict["decisions"][0].get("note")) == ("svc-a", note)
    assert (await client.get(ALPHA)).json()["document"]["content"]["summary"] == "Another"
    again = await client.post(f"{ONE}:discard")
    assert (again.status_code, code(again)) == (409, "CONFLICT_CLOSED")
    await services.background.drain()  # type: ignore[attr-defined]
    assert (await services.marks.list(limit=10, cursor=None)).items == []


@pytest.mark.parametrize("verb", ["retry", "discard"])
async def test_an_unknown_conflict_is_404(client: httpx.AsyncClient, verb: str) -> None:
    response = await client.post(f"{CONFLICTS}/cfl-none:{verb}")
    assert (response.status_code, code(response)) == (404, "CONFLICT_NOT_FOUND")


@pytest.mark.usefixtures("etag")
@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"[]", {}, 400),
        (b'{"note":"%s"}' % (b"x" * 257), {}, 400),
        (b"note", {"Content-Type": "text/plain"}, 415),
        (b'"%s"' % (b"x" * 1_048_577), {}, 413),
    ],
)
async def test_a_bad_body_discards_nothing(
    client: httpx.AsyncClient, content: bytes, headers: dict[str, str], status: int
) -> None:
    response = await client.post(f"{ONE}:discard", content=content, headers=headers)
    assert response.status_code == status
    assert (await client.get(CONFLICTS)).json()["conflicts"][0]["status"] == "open"
