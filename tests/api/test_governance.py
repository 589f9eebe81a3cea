"""Retention and legal holds over HTTP."""

from typing import Any

import httpx
import pytest

from memnet.domain.catalog.retention_policy import COUNTED
from tests.api.conftest import USER, code

APPLY, HOLD, TENANT_HOLD = f"{USER}/retention:apply", f"{USER}/legal-hold", "/v1/tenants/t1/legal-hold"
AT = "2026-01-01T00:00:00.000000Z"


def event(event_id: str, timestamp: str) -> dict[str, Any]:
    return {
        "event_id": event_id,
        "service_id": "svc-a",
        "timestamp": timestamp,
        "source_type": "chat",
        "digest": "What happened.",
        # Its rule is 365 days; the catalog of these tests has no limits of the organisation.
        "evidence": {"profile_id": "project-copilot-v1"},
    }


@pytest.fixture
async def old(client: httpx.AsyncClient) -> None:
    """An event of two years ago and one of today."""
    for event_id, timestamp in (("e-old", "2024-01-01T00:00:00Z"), ("e-new", "2026-01-01T00:00:00Z")):
        assert (await client.post(f"{USER}/events", json=event(event_id, timestamp))).status_code == 201


@pytest.mark.usefixtures("old")
async def test_expired_data_is_deleted_and_counted(client: httpx.AsyncClient) -> None:
    response = await client.post(APPLY)
    assert response.status_code == 200
    result = response.json()
    counts = result["counts"]
    assert (result["as_of"], result["dry_run"], result["on_hold"]) == (AT, False, False)
    assert (result["holds"], result["unreadable"]) == ([], 0)
    assert counts["events"] == {"removed": 1, "on_hold": 0, "blocked": 0, "deferred": 0, "retained": 1}
    assert set(counts) == set(COUNTED)
    found = await client.post(f"{USER}/events:search", json={})
    assert [row["event_id"] for row in found.json()["events"]] == ["e-new"]


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize("place", ["json", "params"])
async def test_time_and_dry_run_are_taken_from_query_or_body(client: httpx.AsyncClient, place: str) -> None:
    then: dict[str, Any] = {place: {"as_of": "2024-06-01T02:00:00+02:00"}}
    result = (await client.post(APPLY, **then)).json()
    assert (result["as_of"], result["counts"]["events"]["removed"]) == ("2024-06-01T00:00:00.000000Z", 0)
    later = {"as_of": "2028-01-01T00:00:00Z"}
    refused = await client.post(APPLY, **{place: later})  # type: ignore[arg-type]
    assert (refused.status_code, code(refused)) == (400, "MALFORMED_REQUEST")
    dry: dict[str, Any] = {place: {**later, "dry_run": True if place == "json" else "true"}}
    for _ in range(2):
        result = (await client.post(APPLY, **dry)).json()
        assert (result["dry_run"], result["counts"]["events"]["removed"]) == (True, 2)


@pytest.mark.parametrize(
    "request_",
    [
        {"json": {"as_of": "yesterday"}},
        {"json": {"dry_run": "true"}},
        {"content": b"dry_run"},
    ],
)
async def test_invalid_requests_are_refused(client: httpx.AsyncClient, request_: dict[str, Any]) -> None:
    response = await client.post(APPLY, **request_)
    assert (response.status_code, code(response)) == (400, "MALFORMED_REQUEST")


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize(("url", "covers"), [(HOLD, "user"), (TENANT_HOLD, "tenant")])
async def test_a_hold_blocks_deletion_until_it_is_lifted(client: httpx.AsyncClient, url: str, covers: str) -> None:
    reason = {"reason": "Litigation 17", "actor": "svc-a"}
    held = [{"covers": covers, **reason, "since": AT}]
    placed = [{"action": "placed", **reason, "at": AT}]
    response = await client.put(url, json={"reason": "Litigation 17"})
    assert (response.status_code, response.json()) == (200, {"held": True, "holds": held, "changes": placed})
    assert (await client.get(url)).json() == response.json()
    result = (await client.post(APPLY)).json()
    assert (result["on_hold"], result["holds"], result["counts"]["events"]["on_hold"]) == (True, held, 1)
    response = await client.delete(url, params={"reason": "settled"})
    released = {"action": "released", "reason": "settled", "actor": "svc-a", "at": AT}
    assert response.json() == {"held": False, "holds": [], "changes": [*placed, released]}
    assert (await client.post(APPLY)).json()["counts"]["events"]["removed"] == 1


@pytest.mark.parametrize("url", [HOLD, TENANT_HOLD])
async def test_a_hold_requires_a_reason(client: httpx.AsyncClient, url: str) -> None:
    for response in (
        await client.put(url, json={}),
        await client.put(url, json={"reason": ""}),
        await client.put(url, json={"reason": "x" * 513}),
        await client.put(url, json={"reason": "x", "actor": "someone else"}),
        await client.put(url),
        await client.delete(url),
        await client.delete(url, params={"reason": ""}),
        await client.delete(url, params={"reason": "x" * 513}),
    ):
        assert (response.status_code, code(response)) == (400, "MALFORMED_REQUEST")
    assert (await client.get(url)).json() == {"held": False, "holds": [], "changes": []}
