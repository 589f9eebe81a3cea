"""Turns by the routes of other memory services: stored, extracted, listed, repeated and erased."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

import httpx
import pytest
import uvicorn

from api.app import create_app
from api.compat import recall_service
from api.identity import TokenValidator
from memnet.adapters.memory.models import ScriptedModels
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import UserScope
from memnet.domain.core.user_item import ItemKind
from memnet.domain.replay.snapshot import Snapshot, load
from memnet.operations.replay.replays import replay_snapshot
from memnet.ports import MessageQueue
from memnet.service import Service
from memnet.settings import Settings
from memnet.stores import KeyRing
from tests.api.conftest import AUDIENCE, ISSUER, USER, Token, code
from tests.api.test_compat import ADD, TURN
from tests.api.test_signed_in_users import signed_in
from tests.api.turns_when_down import Failing
from tests.domain.extraction_samples import answer_text
from tests.injections.turn_attacks import add, claim, fact
from tests.sample_settings import sample_settings

SMOKE_TEST = (
    "curl -X POST http://localhost:8080/turns -H 'Content-Type: application/json' \\\n"
    """-d '{"session_id":"smoke","user_id":"u1","messages":[{"role":"user","content":"I just moved to Berlin"}],"""
    """"timestamp":"2026-05-08T12:00:00Z","metadata":{}}'""",
    "curl -X POST http://localhost:8080/recall -H 'Content-Type: application/json' \\\n"
    """-d '{"query":"where does the user live?","session_id":"smoke","user_id":"u1","max_tokens":512}'""",
)
"""A turn, then a recall, as the recall service's page has them."""


class AtOnce:
    """A broker with a worker in this process: a replay is done when it is sent. Other jobs wait."""

    service: Service

    async def send(self, job: Job, *, attempt: int = 0, due: datetime | None = None) -> None:
        """Do a replay."""
        if job.kind is JobKind.REPLAY:
            await replay_snapshot(job, self.service)

    async def ping(self) -> None:
        """Answer."""


@pytest.fixture
def settings() -> Settings:
    return sample_settings(
        issuer_url=ISSUER,
        audience=AUDIENCE,
        compat="recall-service,memory-engine",
        compat_profile="personal-memory-v1",
        compat_pipeline="chat_with_recency",
    )


@pytest.fixture
def working(services: Service) -> Service:
    """The services, with a worker and a model."""
    queue = AtOnce()
    queue.service = replace(services, queue=cast("MessageQueue", queue), models=ScriptedModels([answer_text()]))
    return queue.service


@pytest.fixture
async def working_client(working: Service, validator: TokenValidator, token: Token) -> AsyncIterator[httpx.AsyncClient]:
    """A client that may do everything in t1."""
    transport = httpx.ASGITransport(create_app(working, validator))
    headers = {"Authorization": f"Bearer {token()}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://memnet.test", headers=headers) as client:
        yield client


async def stored_turn(service: Service, conversation_id: str) -> Snapshot:
    """The only snapshot of a conversation of u1."""
    scope = UserScope("t1", "u1")
    page = await service.records.list(scope, ItemKind.SNAPSHOTS, limit=10, cursor=None)
    (key,) = [key for key in page.items if key.name.startswith(f"{conversation_id}/")]
    stored = await service.records.read(key)
    assert stored is not None
    return load(scope, await KeyRing(service.vault).unseal(key, stored.data))


@pytest.mark.parametrize("is_search_up", [True, False], ids=["all up", "search down"])
async def test_the_smoke_test_is_answered_word_for_word_but_for_the_token(
    working: Service, validator: TokenValidator, token: Token, is_search_up: bool
) -> None:
    failing = Failing(Unavailable(dependency="search"))
    search = working.search if is_search_up else replace(working.search, index=failing)
    app = create_app(replace(working, search=search), validator)
    printed = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, ws="none", lifespan="off", log_config=None))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        token_too = f"curl -sS -w '%{{http_code}}' -H 'Authorization: Bearer {token()}' "
        for command in SMOKE_TEST:
            sent = command.replace("http://localhost:8080", url).replace("curl ", token_too, 1)
            curl = await asyncio.create_subprocess_shell(sent, stdout=asyncio.subprocess.PIPE)
            printed.append((await curl.communicate())[0])
        server.should_exit = True
        await serving
    assert [one[-3:] for one in printed] == [b"201", b"200"], printed
    turn, recalled = (json.loads(one[:-3]) for one in printed)
    assert (turn["degraded"], turn["replay"]["status"]) == (False, "succeeded")
    assert "I just moved to Berlin" in recalled["context"]
    (citation,) = recalled["citations"]
    assert citation == {"turn_id": turn["id"], "score": citation["score"], "snippet": "I just moved to Berlin"}


async def test_a_turn_is_stored_unchanged(working_client: httpx.AsyncClient, working: Service) -> None:
    body = TURN | {"metadata": {"channel": "mobile", "rank": 2, "tags": ["a"]}}
    response = await working_client.post("/turns", json=body)
    assert response.status_code == 201, response.text
    kept = await stored_turn(working, "smoke")
    assert (kept.snapshot_id, kept.is_turn) == (response.json()["id"], True)
    assert [(one.role, one.content, one.timestamp) for one in kept.messages] == [
        ("user", "I just moved to Berlin", "2026-05-08T12:00:00.000000Z")
    ]
    assert kept.metadata == {"channel": "mobile", "rank": "2", "tags": '["a"]'}
    assert kept.profile_id == "personal-memory-v1"


async def test_the_same_turn_again_gets_the_same_answer(working_client: httpx.AsyncClient) -> None:
    first = await working_client.post("/turns", json=TURN)
    again = await working_client.post("/turns", json=TURN)
    assert (again.status_code, again.json()["id"]) == (201, first.json()["id"])
    assert again.headers["Idempotency-Replayed"] == "true"
    later = await working_client.post("/turns", json=TURN | {"timestamp": "2026-05-09T12:00:00Z"})
    assert later.json()["id"] != first.json()["id"]


async def test_an_extraction_that_takes_too_long_degrades_the_answer(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_service, "WAIT_SECONDS", 0)
    response = await client.post("/turns", json=TURN)
    assert (response.status_code, response.json()["degraded"]) == (201, True)
    assert response.json()["replay"]["status"] == "queued"


async def test_what_is_learnt_is_listed_with_what_it_replaced(client: httpx.AsyncClient, services: Service) -> None:
    for turn_id, city, said_at in (("t1", "Lisbon", "2026-02-08T12:00:00Z"), ("t2", "Berlin", "2026-05-08T12:00:00Z")):
        said = f"I live in {city}."
        turn = {"turn_id": turn_id, "timestamp": said_at, "messages": [{"role": "user", "content": said}]}
        body = {"profile_id": "personal-memory-v1", "turns": [turn]}
        stored = await client.post(f"{USER}/conversations/smoke/turns", json=body)
        proposed = claim(add(fact(value=city, text=said)), confidence=0.9, cites=[f"{turn_id}-1"])
        job = Job(JobKind.REPLAY, "t1", "u1", stored.json()["turns"][0]["replay_id"])
        await replay_snapshot(job, replace(services, models=ScriptedModels([answer_text(proposed)])))
    response = await client.get("/users/u1/memories")
    assert response.status_code == 200
    was, now = response.json()["memories"]
    assert [(one["text"], one["active"], one["state"], one["source_session"]) for one in (was, now)] == [
        ("I live in Lisbon.", False, "closed", "smoke"),
        ("I live in Berlin.", True, "open", "smoke"),
    ]
    assert (was["superseded_by"], now["supersedes"]) == (now["id"], was["id"])
    assert was["valid_until"] == now["valid_from"] == "2026-05-08T12:00:00.000000Z"
    assert response.json()["next_cursor"] is None


async def test_messages_are_added_with_a_job_at_once(client: httpx.AsyncClient, services: Service) -> None:
    response = await client.post("/v1/memories/add", json=ADD, headers={"Idempotency-Key": "a 1"})
    assert response.status_code == 202, response.text
    answer = response.json()
    assert (answer["status"], answer["request_id"]) == ("queued", response.headers["X-Request-Id"])
    job = await client.get(response.headers["Location"])
    assert (job.json()["replay_id"], job.json()["status"]) == (answer["job_id"], "queued")
    kept = await stored_turn(services, job.json()["conversation_id"])
    assert kept.metadata == {"source": "chat", "rank": "2", "agent_id": "support-bot"}


async def test_an_idempotency_key_makes_one_request_of_two(client: httpx.AsyncClient) -> None:
    key = {"Idempotency-Key": "a1"}
    first = await client.post("/v1/memories/add", json=ADD, headers=key)
    again = await client.post("/v1/memories/add", json=ADD, headers=key)
    assert (again.json()["job_id"], again.headers["Idempotency-Replayed"]) == (first.json()["job_id"], "true")
    other = await client.post("/v1/memories/add", json=ADD | {"metadata": {}}, headers=key)
    assert (other.status_code, code(other)) == (409, "SNAPSHOT_EXISTS")
    without = [await client.post("/v1/memories/add", json=ADD) for _ in range(2)]
    assert len({first.json()["job_id"], *(one.json()["job_id"] for one in without)}) == 3


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/turns", TURN | {"messages": []}),
        ("/turns", TURN | {"messages": [{"role": "admin", "content": "x"}]}),
        ("/turns", TURN | {"timestamp": "yesterday"}),
        ("/turns", {name: value for name, value in TURN.items() if name != "session_id"}),
        ("/turns", TURN | {"tenant_id": "t2"}),
        ("/turns", TURN | {"metadata": {str(number): "x" for number in range(17)}}),
        ("/turns", TURN | {"metadata": ["x"]}),
        ("/v1/memories/add", ADD | {"external_user_id": "../u2"}),
        ("/v1/memories/add", ADD | {"messages": "Hi."}),
        ("/v1/memories/add", ADD | {"metadata": {"deep": {"text": "x" * 300}}}),
        ("/v1/memories/add", ADD | {"agent_id": "x" * 300}),
    ],
)
async def test_a_body_that_is_not_theirs_is_refused(
    client: httpx.AsyncClient, services: Service, path: str, body: dict[str, Any]
) -> None:
    response = await client.post(path, json=body)
    assert (response.status_code, code(response)) == (400, "MALFORMED_REQUEST")
    page = await services.records.list(UserScope("t1", "u1"), ItemKind.SNAPSHOTS, limit=10, cursor=None)
    assert page.items == []


async def test_an_erasure_begins_and_refuses_turns(client: httpx.AsyncClient) -> None:
    response = await client.delete("/users/u1")
    assert (response.status_code, response.json()["status"]) == (202, "running")
    refused = await client.post("/turns", json=TURN)
    assert (refused.status_code, code(refused)) == (409, "ERASURE_RUNNING")
    known = await client.get(f"{USER}/erasures/{response.json()['erasure_id']}")
    assert known.json()["status"] == "running"


async def test_people_erase_only_where_the_tenant_allows_it(anonymous: httpx.AsyncClient, token: Token) -> None:
    response = await anonymous.delete("/users/u1", headers=signed_in(token))
    assert (response.status_code, code(response)) == (403, "SELF_ERASURE_FORBIDDEN")


async def test_a_deleted_session_is_taken_back_and_accepts_no_more_turns(working_client: httpx.AsyncClient) -> None:
    assert (await working_client.post("/turns", json=TURN)).status_code == 201
    unnamed = await working_client.delete("/sessions/smoke")
    assert (unnamed.status_code, code(unnamed)) == (400, "MALFORMED_REQUEST")
    response = await working_client.delete("/sessions/smoke", params={"user_id": "u1"})
    assert (response.status_code, response.json()["status"]) == (202, "applying")
    known = await working_client.get(f"{USER}/retractions/{response.json()['retraction_id']}")
    assert known.json()["source"] == {"kind": "conversation", "conversation_id": "smoke"}


async def test_a_session_of_another_user_is_not_deleted(working_client: httpx.AsyncClient) -> None:
    assert (await working_client.post("/turns", json=TURN)).status_code == 201
    unknown = await working_client.delete("/sessions/smoke", params={"user_id": "u2"})
    assert (unknown.status_code, code(unknown)) == (404, "USER_NOT_FOUND")
    assert (
        await working_client.post("/turns", json=TURN | {"user_id": "u2", "session_id": "other"})
    ).status_code == 201
    response = await working_client.delete("/sessions/smoke", params={"user_id": "u2"})
    assert response.status_code == 202
    known = await working_client.get(f"/v1/tenants/t1/users/u2/retractions/{response.json()['retraction_id']}")
    assert (known.json()["documents"], known.json()["items"]) == ([], [])
