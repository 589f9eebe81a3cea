"""Recall by the routes of other memory services: what they return, in their members."""

import json
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest

from memnet.adapters.memory.models import ScriptedModels
from memnet.domain.core.job import Job, JobKind
from memnet.operations.replay.replays import replay_snapshot
from memnet.service import Service
from memnet.settings import Settings
from tests.api.conftest import AUDIENCE, ISSUER, USER, code
from tests.api.test_compat import RECALL, RETRIEVE, SEARCH
from tests.domain.extraction_samples import answer_text
from tests.injections.turn_attacks import add, claim, fact
from tests.sample_settings import sample_settings

NOTHING = {"context": "", "citations": []}


@pytest.fixture
def settings() -> Settings:
    return sample_settings(
        issuer_url=ISSUER,
        audience=AUDIENCE,
        compat="recall-service,memory-engine",
        compat_profile="personal-memory-v1",
    )


@pytest.fixture
async def stored(client: httpx.AsyncClient, services: Service) -> str:
    """The id of a turn from which a fact was learnt."""
    said = "I live in Berlin."
    turn = {"turn_id": "t1", "timestamp": "2026-05-08T12:00:00Z", "messages": [{"role": "user", "content": said}]}
    body = {"profile_id": "personal-memory-v1", "turns": [turn]}
    answer = await client.post(f"{USER}/conversations/smoke/turns", json=body)
    proposed = claim(add(fact(value="Berlin", text=said)), confidence=0.9, cites=["t1-1"])
    job = Job(JobKind.REPLAY, "t1", "u1", answer.json()["turns"][0]["replay_id"])
    await replay_snapshot(job, replace(services, models=ScriptedModels([answer_text(proposed)])))
    return "t1"


async def ask(client: httpx.AsyncClient, path: str, body: dict[str, Any], **changed: Any) -> Any:
    response = await client.post(path, json=body | changed)
    assert response.status_code == 200, response.text
    return response.json()


async def test_a_recall_is_the_text_and_a_citation_of_each_result(client: httpx.AsyncClient, stored: str) -> None:
    answer = await ask(client, "/recall", RECALL, query="Which city does the user live in, Berlin?", session_id=None)
    assert answer["context"].count("I live in Berlin.") == len(answer["citations"]) == 2
    assert {one["turn_id"] for one in answer["citations"]} == {stored}
    assert {one["snippet"] for one in answer["citations"]} == {"I live in Berlin."}
    assert all(one["score"] > 0 for one in answer["citations"])


async def test_a_cold_user_and_an_unrelated_question_get_nothing(client: httpx.AsyncClient, stored: str) -> None:
    assert await ask(client, "/recall", RECALL, user_id="u2") == NOTHING
    assert await ask(client, "/recall", RECALL, query="xylophone concert", session_id="other") == NOTHING
    assert await ask(client, "/search", SEARCH, query="xylophone concert") == {"results": []}
    retrieved = await ask(client, "/v1/memories/retrieve", RETRIEVE, query="xylophone concert")
    assert (retrieved["system_prompt_addition"], retrieved["memories"]) == ("", [])


async def test_a_search_returns_what_was_said_and_learnt_best_first(client: httpx.AsyncClient, stored: str) -> None:
    found = (await ask(client, "/search", SEARCH))["results"]
    assert {one["metadata"]["kind"] for one in found} == {"entry", "turn"}
    turn = next(one for one in found if one["metadata"]["kind"] == "turn")
    assert turn == {
        "content": "I live in Berlin.",
        "score": turn["score"],
        "session_id": "smoke",
        "turn_id": stored,
        "timestamp": "2026-05-08T12:00:00.000000Z",
        "metadata": {"kind": "turn", "state": "open"},
    }
    assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)
    assert len((await ask(client, "/search", SEARCH, limit=1))["results"]) == 1


async def test_a_search_is_not_limited_by_tokens(client: httpx.AsyncClient) -> None:
    for number in range(12):
        message = {"role": "user", "content": f"Berlin number {number}: " + "a long story of many words. " * 25}
        turn = {"turn_id": f"t{number}", "timestamp": "2026-05-08T12:00:00Z", "messages": [message]}
        body = {"profile_id": "personal-memory-v1", "turns": [turn]}
        assert (await client.post(f"{USER}/conversations/c{number}/turns", json=body)).status_code == 201
    assert len((await ask(client, "/recall", RECALL, query="Berlin", max_tokens=400))["citations"]) in (1, 2)
    assert len((await ask(client, "/search", SEARCH, query="Berlin", limit=12))["results"]) == 12


async def test_what_is_retrieved_is_text_in_the_format_that_is_asked_for(
    client: httpx.AsyncClient, stored: str
) -> None:
    by_format = {}
    for format in ("bullets", "json", "xml"):
        answer = await ask(client, "/v1/memories/retrieve", RETRIEVE, format=format)
        begin, *lines, end = answer["system_prompt_addition"].split("\n")
        assert (begin, end) == ("<memnet-context>", "</memnet-context>")
        by_format[format] = "\n".join(lines)
    assert "I live in Berlin." in by_format["bullets"]
    assert "I live in Berlin." in json.dumps(json.loads(by_format["json"]))
    assert "I live in Berlin." in "".join(ElementTree.fromstring(by_format["xml"]).itertext())
    usual = {name: value for name, value in RETRIEVE.items() if name != "format"}
    assert (
        (await ask(client, "/v1/memories/retrieve", usual))["system_prompt_addition"]
        .split("\n", 1)[1]
        .startswith(by_format["bullets"])
    )


async def test_a_retrieved_memory_has_its_importance_and_its_uses(client: httpx.AsyncClient, stored: str) -> None:
    answer = await ask(client, "/v1/memories/retrieve", RETRIEVE)
    entry = next(one for one in answer["memories"] if one["type"] == "entry")
    assert entry["content"] == "I live in Berlin."
    assert entry["id"] in {one["entry_id"] for one in (await client.get(f"{USER}/entries")).json()["entries"]}
    assert 0 <= entry["importance_score"] <= (entry["original_importance_score"] or 0.5)
    assert (entry["access_count"], entry["last_accessed_at"]) == (0, None)
    assert (answer["clarification_question"], answer["degraded"]) == (None, [])


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/recall", RECALL | {"query": ""}),
        ("/recall", RECALL | {"query": "x" * 1001}),
        ("/recall", RECALL | {"max_tokens": 0}),
        ("/recall", RECALL | {"tenant_id": "t2"}),
        ("/search", SEARCH | {"limit": 101}),
        ("/v1/memories/retrieve", RETRIEVE | {"format": "markdown"}),
        ("/v1/memories/retrieve", RETRIEVE | {"external_user_id": "../u2"}),
    ],
)
async def test_a_body_that_is_not_theirs_is_refused(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> None:
    response = await client.post(path, json=body)
    assert (response.status_code, code(response)) == (400, "MALFORMED_REQUEST")


async def test_the_oldest_question_is_the_clarification(client: httpx.AsyncClient, stored: str) -> None:
    place = f"{USER}/documents/user/personal.json"
    asked = {"profile_id": "personal-memory-v1", "binding_id": "personal", "reason": "live_update", "confidence": 0.3}
    town = {"subject": "user", "attribute": "live in", "value": "Porto", "text": "I live in Porto.", "confidence": 0.3}
    found = (await client.get(place)).json()["document"]["content"]["facts"][0]
    town |= {name: found[name] for name in ("subject", "attribute") if name in found}
    body = {**asked, "ops": [{"op": "add", "path": "/content/facts/-", "value": town}]}
    etag = (await client.get(place)).headers["ETag"]
    headers = {"If-Match": etag, "Idempotency-Key": "asks"}
    evidence = {"conversation_id": "c9"}
    answer = await client.patch(place, json={**body, "evidence": evidence}, headers=headers)
    assert [row["verdict"] for row in answer.json()["settled"]] == ["asked"], answer.text
    retrieved = await ask(client, "/v1/memories/retrieve", RETRIEVE)
    assert "Porto" in retrieved["clarification_question"]
    assert "Berlin" in retrieved["clarification_question"]
