"""Turns over HTTP: stored before 201, the same turn once, and an answer that waits on request."""

from datetime import datetime
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from starlette.requests import Request

from api.draining_server import DrainingServer
from api.prefer_header import wait_preference
from memnet.domain.core.job import Job
from memnet.domain.core.user_item import ItemKind
from memnet.domain.replay import replay as replays
from memnet.domain.replay.replay import replay_key
from memnet.service import Service
from tests.api.conftest import USER, Token, bearer, code, with_the_vault_down
from tests.operations.turn_scenario import PROFILE, SCOPE, turn

TURNS = f"{USER}/conversations/c1/turns"
SAID = [{"role": "user", "content": "I moved."}]
SHARED = {"profile_id": "workspace-memory-v1"}


async def send(
    client: httpx.AsyncClient, *turns: dict[str, Any], prefer: str | None = None, **members: Any
) -> httpx.Response:
    body = {"profile_id": PROFILE, "turns": list(turns or (turn(),))} | members
    return await client.post(TURNS, json=body, headers={} if prefer is None else {"Prefer": prefer})


class Worker:
    """The broker, with a worker that ends each replay as soon as its job is sent."""

    def __init__(self, service: Service, app: FastAPI) -> None:
        self.service, self.limit = service, app.state.concurrency_limit
        self.places: list[tuple[int, int]] = []
        """The requests that worked and that waited when a job was sent."""

    async def send(self, job: Job, *, attempt: int = 0, due: datetime | None = None) -> None:
        self.places.append((self.limit.working.count, self.limit.waiting.count))
        key = replay_key(job.scope, job.job_id)
        stored = await self.service.records.read(key)
        assert stored is not None
        ended = replays.load(stored.data).finish(self.service.clock.now())
        await self.service.records.write(key, replays.dump(ended), replaces=stored.storage_etag)


@pytest.fixture
def worker(services: Service, app: FastAPI) -> Worker:
    found = Worker(services, app)
    object.__setattr__(services, "queue", found)
    return found


async def test_a_turn_is_201_and_the_same_again_is_replayed(client: httpx.AsyncClient) -> None:
    first = await send(client, turn("t1"), turn("t2"))
    assert first.status_code == 201
    assert "Idempotency-Replayed" not in first.headers
    assert "Preference-Applied" not in first.headers
    rows = first.json()["turns"]
    assert [row["turn_id"] for row in rows] == ["t1", "t2"]
    assert rows[0]["snapshot_uri"] == "blob://tenants/t1/users/u1/snapshots/c1/t1.json"
    assert set(rows[0]) == {"turn_id", "snapshot_uri", "replay_id", "queued"}
    replay = (await client.get(f"{USER}/replays/{rows[0]['replay_id']}")).json()
    assert (replay["status"], replay["snapshot_id"], replay["is_turn"]) == ("queued", "t1", True)
    again = await send(client, turn("t1"), turn("t2"))
    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["Idempotency-Replayed"] == "true"
    other = await send(client, turn("t1", "Something else."), turn("t3"))
    assert (other.status_code, code(other)) == (409, "SNAPSHOT_EXISTS")
    details = other.json()["error"]["details"]
    assert (details["turn_ids"], [row["turn_id"] for row in details["stored"]]) == (["t1"], ["t3"])


@pytest.mark.parametrize(
    ("members", "status", "expected"),
    [
        ({"profile_id": "unknown"}, 404, "PROFILE_NOT_FOUND"),
        ({"profile_id": "project-copilot-v1"}, 422, "TURNS_NOT_ACCEPTED"),
        ({"turns": []}, 400, "MALFORMED_REQUEST"),
        ({"turns": [turn(f"t{number}") for number in range(101)]}, 400, "MALFORMED_REQUEST"),
        ({"turns": [{"messages": SAID}]}, 400, "MALFORMED_REQUEST"),
        ({"turns": [{"turn_id": "t1", "messages": []}]}, 400, "MALFORMED_REQUEST"),
        ({"turns": [turn("t1"), turn("t1")]}, 400, "MALFORMED_REQUEST"),
        ({"turns": [turn("a/b")]}, 400, "MALFORMED_REQUEST"),
        ({"turns": [turn("t" * 121)]}, 400, "MALFORMED_REQUEST"),
        ({"turns": [turn(timestamp="yesterday")]}, 400, "MALFORMED_REQUEST"),
        ({"turns": [turn(metadata={str(number): "" for number in range(17)})]}, 400, "MALFORMED_REQUEST"),
        ({"turns": [turn(metadata={"channel": "x" * 257})]}, 400, "MALFORMED_REQUEST"),
        ({"turns": [turn(messages=[*SAID, {**SAID[0], "message_id": "t7-1"}])]}, 400, "MALFORMED_REQUEST"),
        ({"turns": [turn(messages=[{**SAID[0], "role": "robot"}])]}, 400, "MALFORMED_REQUEST"),
        ({"turns": [turn(number, messages=SAID * 1001) for number in ("a", "b")]}, 400, "MALFORMED_REQUEST"),
        ({"turns": [turn(f"t{number}") for number in range(61)]}, 422, "LIMIT_EXCEEDED"),
        ({"turns": [turn(claimant={"user_id": "u1"})]}, 422, "CLAIMANT_NOT_ACCEPTED"),
        ({**SHARED, "turns": [turn(claimant={"user_id": "stranger"})]}, 404, "CLAIMANT_NOT_FOUND"),
        ({**SHARED, "turns": [turn(claimant={"user_id": "a/b"})]}, 400, "MALFORMED_REQUEST"),
        ({**SHARED, "turns": [turn(claimant="u1")]}, 400, "MALFORMED_REQUEST"),
        ({**SHARED, "turns": [turn(claimant={"user_id": "u1", "name": "U"})]}, 400, "MALFORMED_REQUEST"),
    ],
)
async def test_what_is_no_turn_is_refused_and_nothing_is_stored(
    client: httpx.AsyncClient, services: Service, members: dict[str, Any], status: int, expected: str
) -> None:
    response = await send(client, **members)
    assert (response.status_code, code(response)) == (status, expected)
    assert (await services.records.list(SCOPE, ItemKind.SNAPSHOTS, limit=10, cursor=None)).items == []


async def test_turns_over_the_limit_of_a_minute_are_429(client: httpx.AsyncClient) -> None:
    await send(client, *(turn(f"t{number}") for number in range(60)))
    refused = await send(client, turn("one-more"))
    assert (refused.status_code, code(refused)) == (429, "QUOTA_EXCEEDED")
    assert 1 <= int(refused.headers["Retry-After"]) <= 60


async def test_without_the_vault_it_is_503(client: httpx.AsyncClient, app: FastAPI, services: Service) -> None:
    app.state.service = with_the_vault_down(services)
    response = await send(client)
    assert (response.status_code, code(response)) == (503, "VAULT_UNAVAILABLE")


async def test_a_request_that_waits_is_answered_when_the_replays_have_ended(
    client: httpx.AsyncClient, worker: Worker
) -> None:
    response = await send(client, turn("t1"), turn("t2"), prefer="wait=60")
    assert response.headers["Preference-Applied"] == "wait=60"
    rows = response.json()["turns"]
    assert [row["replay"]["status"] for row in rows] == ["succeeded", "succeeded"]
    assert [row["replay"]["replay_id"] for row in rows] == [row["replay_id"] for row in rows]
    assert worker.places == [(0, 1), (0, 1)], "it holds a place of those that wait"
    assert (worker.limit.working.count, worker.limit.waiting.count) == (0, 0)


async def test_a_process_that_drains_answers_at_once(client: httpx.AsyncClient, app: FastAPI) -> None:
    app.state.concurrency_limit.drain()
    response = await send(client, prefer="wait=60")
    assert (response.status_code, response.headers["Preference-Applied"]) == (201, "wait=60")
    assert response.json()["turns"][0]["replay"]["status"] == "queued"


class StopsAtOnce(DrainingServer):
    async def main_loop(self) -> None:
        """Stop as soon as the server has started."""


async def test_a_server_that_stops_ends_the_waiting(app: FastAPI) -> None:
    limit = app.state.concurrency_limit
    config = uvicorn.Config(app, port=0, ws="none", lifespan="off", log_config=None)
    assert not limit.ends_waiting.is_set()
    await StopsAtOnce(config, limit, 0.0).serve()
    assert limit.ends_waiting.is_set()


async def test_without_a_free_place_the_preference_is_ignored(client: httpx.AsyncClient, app: FastAPI) -> None:
    waiting = app.state.concurrency_limit.waiting
    waiting._limit = 1
    waiting.acquire("svc-other")
    response = await send(client, prefer="wait=60")
    assert response.status_code == 201
    assert "Preference-Applied" not in response.headers
    assert "replay" not in response.json()["turns"][0]
    assert waiting.count == 1


async def test_who_may_not_get_replays_gets_none_by_waiting(
    client: httpx.AsyncClient, worker: Worker, token: Token
) -> None:
    writer = bearer(token(roles=["Memory.Write"]))
    body = {"profile_id": PROFILE, "turns": [turn()]}
    response = await client.post(TURNS, json=body, headers={**writer, "Prefer": "wait=60"})
    assert response.headers["Preference-Applied"] == "wait=60"
    assert "replay" not in response.json()["turns"][0]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        (["wait=1"], 1),
        (["wait=60"], 60),
        (["wait=600"], 60),
        (["WAIT = 5"], 5),
        (['wait="5"'], 5),
        (["respond-async, wait=5; by=clock"], 5),
        (["respond-async", "wait=5"], 5),
        (["wait=5, wait=9"], 5),
        (["wait=0, wait=9"], None),
        (["wait"], None),
        (["wait=soon"], None),
        (["wait=-1"], None),
        (["waiting=5"], None),
        (["return=minimal"], None),
        ([], None),
    ],
)
def test_the_first_wait_of_the_request_counts(headers: list[str], seconds: int | None) -> None:
    rows = [(b"prefer", header.encode()) for header in headers]
    assert wait_preference(Request({"type": "http", "headers": rows})) == seconds
