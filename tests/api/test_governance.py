"""Retention and legal holds over HTTP."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from memnet.adapters.memory.clock import FrozenClock
from memnet.service import Service
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


async def stored(services: Service) -> list[str]:
    return [key.event_id for key in (await services.events.list(None, limit=10, cursor=None)).items]


@pytest.mark.usefixtures("old")
async def test_expired_data_is_deleted_and_counted(client: httpx.AsyncClient, services: Service) -> None:
    response = await client.post(APPLY)
    assert response.status_code == 200
    result = response.json()
    assert (result["as_of"], result["dry_run"], result["on_hold"], result["holds"], result["unreadable"]) == (
        AT,
        False,
        False,
        [],
        0,
    )
    assert result["counts"]["events"] == {"removed": 1, "on_hold": 0, "blocked": 0, "deferred": 0, "retained": 1}
    assert set(result["counts"]) == {"snapshots", "replays", "conflicts", "accesses", "events", "audit", "imports"}
    assert await stored(services) == ["e-new"]
    found = await client.post(f"{USER}/events:search", json={})
    assert [row["event"]["event_id"] if "event" in row else row["event_id"] for row in found.json()["events"]] == [
        "e-new"
    ]


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize(
    "request_",
    [{"json": {"dry_run": True}}, {"params": {"dry_run": "true"}}, {"json": {}, "params": {"dry_run": "true"}}],
)
async def test_a_dry_run_in_query_or_body_deletes_nothing(
    client: httpx.AsyncClient, services: Service, request_: dict[str, Any]
) -> None:
    result = (await client.post(APPLY, **request_)).json()
    assert (result["dry_run"], result["counts"]["events"]["removed"]) == (True, 1)
    assert await stored(services) == ["e-new", "e-old"]


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize("in_body", [True, False])
async def test_as_of_is_a_time(client: httpx.AsyncClient, in_body: bool) -> None:
    async def apply(**members: str | bool) -> httpx.Response:
        return await (client.post(APPLY, json=members) if in_body else client.post(APPLY, params=members))

    result = (await apply(as_of="2024-06-01T02:00:00+02:00")).json()
    assert (result["as_of"], result["counts"]["events"]["removed"]) == ("2024-06-01T00:00:00.000000Z", 0)
    response = await apply(as_of="2028-01-01T00:00:00Z")
    assert (response.status_code, code(response)) == (400, "MALFORMED_REQUEST")
    result = (await apply(as_of="2028-01-01T00:00:00Z", dry_run=True)).json()
    assert result["counts"]["events"]["removed"] == 2


@pytest.mark.parametrize(
    "request_",
    [
        {"json": {"as_of": "yesterday"}},
        {"params": {"as_of": "yesterday"}},
        {"json": {"dry_run": "true"}},
        {"content": b"dry_run"},
    ],
)
async def test_invalid_requests_are_refused(client: httpx.AsyncClient, request_: dict[str, Any]) -> None:
    response = await client.post(APPLY, **request_)
    assert (response.status_code, code(response)) == (400, "MALFORMED_REQUEST")


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize(("url", "covers"), [(HOLD, "user"), (TENANT_HOLD, "tenant")])
async def test_a_hold_blocks_deletion_until_it_is_lifted(
    client: httpx.AsyncClient, services: Service, url: str, covers: str
) -> None:
    reason = {"reason": "Litigation 17", "actor": "svc-a"}
    held = [{"covers": covers, **reason, "since": AT}]
    placed = [{"action": "placed", **reason, "at": AT}]
    response = await client.put(url, json={"reason": "Litigation 17"})
    assert (response.status_code, response.json()) == (200, {"held": True, "holds": held, "changes": placed})
    assert (await client.get(url)).json() == response.json()
    result = (await client.post(APPLY)).json()
    assert (result["on_hold"], result["holds"], result["counts"]["events"]["on_hold"]) == (True, held, 1)
    assert await stored(services) == ["e-new", "e-old"]

    clock = services.clock
    assert isinstance(clock, FrozenClock)
    clock.advance(timedelta(minutes=1))
    response = await client.delete(url, params={"reason": "settled"})
    released = {"action": "released", "reason": "settled", "actor": "svc-a", "at": "2026-01-01T00:01:00.000000Z"}
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
