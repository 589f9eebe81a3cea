"""How the service does, over HTTP: for administrators, and without anybody's name."""

import httpx
import pytest

from memnet.domain.core.job import Job, JobKind
from memnet.service import Service
from tests.api.conftest import DYNAMIC, changing, code, patch_body

STATISTICS = "/v1/statistics"


async def test_it_reports_requests_and_waiting_work(client: httpx.AsyncClient, services: Service, etag: str) -> None:
    stale = await client.patch(DYNAMIC, json=patch_body(), headers=changing('"0-0000000000000000"', "late"))
    assert stale.status_code == 412
    await client.get("/health/live")
    await services.marks.mark(Job(JobKind.REPLAY, "t1", "u1", "rpl-1"))
    response = await client.get(STATISTICS)
    assert response.status_code == 200
    result = response.json()
    assert result["scope"] == "process"
    rows = {row["operation"]: row["statuses"] for row in result["requests"]["operations"]}
    assert rows == {"patch_document": {"201": 1, "412": 1}, "other": {"200": 1}}
    now = result["requests"]["by_minute"][-1]
    assert (now["requests"], now["writes"], now["stale_writes"]) == (2, 2, 1)
    assert now["p50_ms"] > 0
    assert len(result["requests"]["by_minute"]) == 60
    assert result["backlog"]["jobs"]["replay"]["waiting"] == 1
    assert result["backlog"]["complete"] is True


async def test_no_tenant_user_or_principal_is_named(client: httpx.AsyncClient, etag: str) -> None:
    await client.get("/v1/tenants/t1/users/somebody/documents/private/diary.json")
    text = (await client.get(STATISTICS)).text
    assert not [name for name in ("somebody", "svc-a", "diary", '"t1"', '"u1"') if name in text]


async def test_it_is_asked_back_to_a_time(client: httpx.AsyncClient) -> None:
    assert len((await client.get(STATISTICS, params={"minutes": 5})).json()["requests"]["by_minute"]) == 5


@pytest.mark.parametrize("minutes", ["0", "61", "1.5", "all", ""])
async def test_a_time_that_is_not_kept_is_refused(client: httpx.AsyncClient, minutes: str) -> None:
    response = await client.get(STATISTICS, params={"minutes": minutes})
    assert (response.status_code, code(response)) == (400, "MALFORMED_REQUEST")
