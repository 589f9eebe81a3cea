"""Pending items over HTTP: listed over all documents, confirmed, rejected, and who may see and do what."""

from typing import Any

import httpx
import pytest

from tests.api.conftest import DYNAMIC, USER, Token, bearer, changing, code, creating

PENDING = f"{USER}/pending"
EVIDENCE = {"conversation_id": "c1", "message_ids": ["m1"]}
BY_REVIEWER = {"namespace": "user", "path": "user_dynamic.json", "confidence": 0.95, "evidence": {"event_id": "e9"}}
WHERE = {"namespace": "user", "path": "user_dynamic.json"}


def fact(number: int, text: str) -> dict[str, Any]:
    return {
        "id": f"f{number}",
        "text": text,
        "confidence": 0.9,
        "evidence": EVIDENCE,
        "last_verified_at": "2026-01-01T00:00:00Z",
    }


FACTS = [fact(1, "Has a dog."), fact(2, "Lives in Bern.")]


async def patch(
    client: httpx.AsyncClient, headers: dict[str, str], *ops: dict[str, Any], sure: float
) -> dict[str, Any]:
    body = {"profile_id": "project-copilot-v1", "binding_id": "user_dynamic", "reason": "live_update"}
    response = await client.patch(
        DYNAMIC, json={**body, "ops": list(ops), "confidence": sure, "evidence": EVIDENCE}, headers=headers
    )
    assert response.is_success, response.text
    answer: dict[str, Any] = response.json()
    return answer


@pytest.fixture
async def waiting(client: httpx.AsyncClient) -> dict[str, Any]:
    """Two facts, a proposal by svc-a that the second be another, and then a live removal of the first."""
    adds = [{"op": "add", "path": "/content/durable_facts/-", "value": one} for one in FACTS]
    made = await patch(client, creating(), *adds, sure=0.9)
    guess = {"op": "replace", "path": "/content/durable_facts/1/text", "value": "Lives in Lisbon."}
    made = await patch(client, changing(made["etag"], "guess"), guess, sure=0.4)
    await patch(client, changing(made["etag"], "live"), {"op": "remove", "path": "/content/durable_facts/0"}, sure=0.9)
    listed = await client.get(PENDING)
    assert listed.status_code == 200
    [row] = listed.json()["pending"]
    return dict(row)


def reviewer(token: Token, *roles: str) -> dict[str, str]:
    return {**bearer(token(*(roles or ("Memory.Read", "Memory.Write")), oid="svc-b")), "Idempotency-Key": "decide"}


async def content(client: httpx.AsyncClient) -> Any:
    return (await client.get(DYNAMIC)).json()["document"]["content"]


async def test_the_list_names_document_place_version_and_item(
    client: httpx.AsyncClient, waiting: dict[str, Any]
) -> None:
    etag = (await client.get(DYNAMIC)).headers["ETag"]
    assert {name: waiting[name] for name in waiting if name != "item"} == {
        "namespace": "user",
        "path": "user_dynamic.json",
        "pointer": "/content/pending_confirmations/0",
        "existing": None,
        "etag": etag,
    }
    assert waiting["item"]["base"] == {"durable_facts": [FACTS[1]]}
    assert (waiting["item"]["proposed_by"], waiting["item"]["on_behalf_of"]) == ("svc-a", None)


@pytest.mark.parametrize("roles", [("Memory.Write",), ("Memory.Read", "Memory.Write"), ("Memory.Admin",)])
async def test_a_changed_target_is_409_and_its_values_only_for_who_may_read(
    client: httpx.AsyncClient, token: Token, waiting: dict[str, Any], roles: tuple[str, ...]
) -> None:
    place = "/content/durable_facts/0"
    moved = {"op": "replace", "path": f"{place}/text", "value": "Lives in Porto."}
    source = {"op": "replace", "path": f"{place}/evidence", "value": {"event_id": "e8"}}
    await patch(client, changing(waiting["etag"], "porto"), moved, source, sure=0.9)
    before = await content(client)
    url = f"{PENDING}/{waiting['item']['id']}:confirm"
    refused = await client.post(url, json=BY_REVIEWER, headers=reviewer(token, *roles))
    assert (refused.status_code, code(refused)) == (409, "PENDING_TARGET_CHANGED")
    details = refused.json()["error"]["details"]
    known = {"pending_id": waiting["item"]["id"], "why": "changed", "path": "/content/durable_facts/0/text"}
    values = {"base": "Lives in Bern.", "ours": waiting["item"]["target"], "theirs": "Lives in Porto."}
    assert details == (known if roles == ("Memory.Write",) else known | values)
    assert await content(client) == before


async def test_a_dry_run_shows_the_outcome_to_who_may_read_and_changes_nothing(
    client: httpx.AsyncClient, token: Token, waiting: dict[str, Any]
) -> None:
    url, before = f"{PENDING}/{waiting['item']['id']}:confirm", await content(client)
    for roles in (("Memory.Read", "Memory.Write"), ("Memory.Write",)):
        answer = await client.post(url, json=BY_REVIEWER, headers=reviewer(token, *roles), params={"dry_run": "true"})
        assert (answer.status_code, answer.json()["dry_run"]) == (200, True)
        assert ("document" in answer.json()) is (len(roles) == 2)
    assert await content(client) == before


async def test_a_confirmation_is_answered_again(
    client: httpx.AsyncClient, token: Token, waiting: dict[str, Any]
) -> None:
    url = f"{PENDING}/{waiting['item']['id']}:confirm"
    first = await client.post(url, json=BY_REVIEWER, headers=reviewer(token))
    assert (first.status_code, first.headers["ETag"]) == (200, first.json()["etag"])
    again = await client.post(url, json=BY_REVIEWER, headers=reviewer(token))
    assert (again.json(), again.headers["Idempotency-Replayed"]) == (first.json(), "true")
    other = await client.post(url, json=BY_REVIEWER, headers={**reviewer(token), "Idempotency-Key": "other"})
    assert (other.status_code, code(other)) == (404, "PENDING_ITEM_NOT_FOUND")


async def test_the_proposer_rejects_and_does_not_confirm(client: httpx.AsyncClient, waiting: dict[str, Any]) -> None:
    url = f"{PENDING}/{waiting['item']['id']}"
    refused = await client.post(f"{url}:confirm", json=BY_REVIEWER, headers={"Idempotency-Key": "own"})
    assert (refused.status_code, code(refused)) == (403, "PROPOSER_CANNOT_CONFIRM")
    late = await client.post(f"{url}:reject", json=WHERE, headers=changing('"1-0000000000000000"', "out"))
    assert (late.status_code, code(late)) == (412, "ETAG_MISMATCH")
    gone = await client.post(f"{url}:reject", json={**WHERE, "note": "No."}, headers=changing(waiting["etag"], "out"))
    assert gone.status_code == 200


@pytest.mark.parametrize(
    ("members", "headers", "status", "expected"),
    [
        ({"confidence": 0.5}, {}, 422, "CONFIDENCE_TOO_LOW"),
        ({"evidence": None}, {}, 422, "EVIDENCE_REQUIRED"),
        ({"confidence": None}, {}, 400, "MALFORMED_REQUEST"),
        ({"path": "nothing.json"}, {}, 404, "DOCUMENT_NOT_FOUND"),
        ({}, {"If-None-Match": "*"}, 400, "INVALID_PRECONDITION"),
        ({}, {"Idempotency-Key": ""}, 400, "IDEMPOTENCY_KEY_REQUIRED"),
    ],
)
async def test_an_invalid_confirmation_is_refused(
    client: httpx.AsyncClient,
    token: Token,
    waiting: dict[str, Any],
    members: dict[str, Any],
    headers: dict[str, str],
    status: int,
    expected: str,
) -> None:
    url = f"{PENDING}/{waiting['item']['id']}:confirm"
    refused = await client.post(url, json=BY_REVIEWER | members, headers=reviewer(token) | headers)
    assert (refused.status_code, code(refused)) == (status, expected)
