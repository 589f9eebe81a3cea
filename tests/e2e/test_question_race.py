"""Two answers to one question at once, through two processes over one storage: one is applied."""

import asyncio
from typing import Any

import pytest

from tests.e2e.client import Answer, User, add
from tests.e2e.service import Service
from tests.e2e.test_statement_race import PERSONAL

pytestmark = pytest.mark.asyncio(loop_scope="module")


def lives_in(town: str, sure: float) -> dict[str, Any]:
    evidence = {"conversation_id": f"c-{town}"}
    value = {"subject": "user", "attribute": "lives in", "value": town, "text": f"Lives in {town}."}
    return add("/content/facts/-", {**value, "confidence": sure, "evidence": evidence})


async def say(user: User, town: str, sure: float) -> Any:
    found = await user.get(PERSONAL)
    etag = found.etag if found.status == 200 else None
    answer = await user.patch(PERSONAL, lives_in(town, sure), etag=etag, key=town, confidence=sure)
    assert answer.status in (200, 201), answer.text
    (settled,) = answer.body["settled"]
    return settled


async def decide(user: User, pending_id: str, take: str) -> Answer:
    body = {"namespace": "user", "path": "personal.json", "confidence": 0.9, "take": take}
    body["evidence"] = {"conversation_id": f"c-{take}"}
    headers = {"Idempotency-Key": f"take-{take}"}
    return await user.send("POST", f"/pending/{pending_id}:confirm", json=body, headers=headers)


@pytest.mark.parametrize("round_", range(3))
async def test_of_two_answers_one_is_applied_and_the_other_sees_it(service: Service, round_: int) -> None:
    proposer = service.user()
    apis = [service.apis[0].url, (await service.start_api()).url]
    await say(proposer, "Lisbon", 0.9)
    pending_id = (await say(proposer, "Berlin", 0.3))["pending_id"]
    assert (await say(proposer, "Porto", 0.3))["pending_id"] == pending_id
    own = await decide(proposer, pending_id, "existing")
    assert (own.status, own.body["error"]["code"]) == (403, "PROPOSER_CANNOT_CONFIRM")
    people = [proposer.by(service.token(principal=name)).at(api) for name, api in zip("xy", apis, strict=True)]
    answers = await asyncio.gather(decide(people[0], pending_id, "existing"), decide(people[1], pending_id, "proposed"))
    assert sorted(answer.status for answer in answers) == [200, 404]
    won, lost = sorted(answers, key=lambda answer: answer.status)
    details = lost.body["error"]["details"]
    content = await proposer.content(PERSONAL)
    (entry,) = [one for one in content["facts"] if not one.get("valid_until")]
    assert (details["entry"], content["to_confirm"]) == (entry, [])
    assert details["decided_by"] == ("x" if won is answers[0] else "y")
    assert entry["value"] == ("Lisbon" if won is answers[0] else "Berlin")
