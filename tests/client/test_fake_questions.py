"""Answers to questions on the fake and on the application: the same joins, answers and refusals."""

from typing import Any

import pytest

from memnet_client.testing import FakeMemnet
from tests.client.conftest import PERSONAL, USER, Api
from tests.client.test_fake_statements import JANUARY, MARCH, MAY, lives_in, rows, state


@pytest.mark.parametrize(
    ("take", "opened"),
    [("proposed", ["Porto"]), ("existing", ["Lisbon"]), ("both", ["Lisbon", "Porto"])],
)
async def test_a_question_with_two_proposals_is_answered(api: Api, take: str, opened: list[str]) -> None:
    await state(api, lives_in("Lisbon"), at=JANUARY)
    for town, at in (("Berlin", MARCH), ("Porto", MAY)):
        answer = await state(api, lives_in(town, confidence=0.5), at=at, confidence=0.5)
        assert [row["verdict"] for row in answer["settled"]] == ["asked"]
    (waits,) = (await api.send("GET", f"{USER}/pending")).json()["pending"]
    item = waits["item"]
    assert item["choices"] == ["Lives in Lisbon.", "Lives in Berlin.", "Lives in Porto."]
    body: dict[str, Any] = {"namespace": "user", "path": "personal.json", "confidence": 0.9, "take": take}
    body |= {"evidence": {"event_id": "e1"}} | ({} if take == "existing" else {"choice": 2})
    confirm = f"{USER}/pending/{item['id']}:confirm"
    wrong = await api.send("POST", confirm, by="svc-b", json=body | {"choice": 7}, headers={"Idempotency-Key": "wrong"})
    assert wrong.status_code == 400, wrong.text
    done = await api.send("POST", confirm, by="svc-b", json=body, headers={"Idempotency-Key": "yes"})
    assert done.status_code == 200, done.text
    assert sorted(row["value"]["value"] for row in await rows(api, state="open")) == opened
    late = await api.send("POST", confirm, by="svc-b", json=body, headers={"Idempotency-Key": "late"})
    error = late.json()["error"]
    assert (error["code"], error["details"]["decided_by"]) == ("PENDING_ITEM_NOT_FOUND", "svc-b")
    assert error["details"]["entry"]["value"] in opened


async def test_a_question_is_asked_while_its_entry_is_open_whatever_fits_into_the_context(api: Api) -> None:
    async def asked(**limits: Any) -> Any:
        verbs = {"assemble": limits, "recall": {"query": "Where does the user live?"}}
        answers = [
            await api.send("POST", f"{USER}/context:{verb}", json={"profile_id": PERSONAL} | more)
            for verb, more in verbs.items()
        ]
        assert [one.status_code for one in answers] == [200, 200], [one.text for one in answers]
        first, second = (one.json().get("clarification") for one in answers)
        assert first == second
        return first

    await state(api, lives_in("Lisbon"), at=JANUARY)
    await state(api, lives_in("Berlin", confidence=0.5), at=MARCH, confidence=0.5)
    question = await asked()
    assert question["choices"] == ["Lives in Lisbon.", "Lives in Berlin."]
    assert await asked(max_chars_total=10) == question
    await state(api, lives_in("Porto"), at=MAY)
    assert await asked() is None


def test_an_empty_value_of_a_confirmation_is_sent_too() -> None:
    fake = FakeMemnet()
    fact = {"text": "Lives in Bern.", "confidence": 0.5, "evidence": {"conversation_id": "c1"}}
    fake.client("svc-a").user("maya").append("user_dynamic", "/durable_facts", fact, confidence=0.5)
    reviewer = fake.client("svc-b").user("maya")
    (item,) = reviewer.pending()
    reviewer.confirm(item, value={}, evidence={"conversation_id": "c2"})
    (written,) = fake.content("maya", "user_dynamic")["durable_facts"]
    assert "text" not in written
