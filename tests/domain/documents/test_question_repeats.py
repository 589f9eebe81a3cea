"""What was answered is not asked again: equal evidence, earlier statements, and what was set apart."""

import pytest

from tests.domain.documents.test_question_answers import asked
from tests.domain.samples import op
from tests.domain.statement_document import Statements, day, fact


@pytest.mark.parametrize("take", ["existing", "both"])
def test_equal_evidence_does_not_ask_again(take: str) -> None:
    memory, pending_id = asked("Porto")
    memory.confirm(pending_id, take=take)
    before = memory.content
    settled = memory.say("Porto", at=10, evidence={"conversation_id": "another"})
    assert (settled["verdict"], settled["replaced_by"]) == ("kept", memory.of("Lisbon")["id"])
    assert memory.content == before
    with_new_time = memory.patch(
        op("add", "/content/facts/-", value=fact("Porto", evidence={"conversation_id": "c2"})), at=None
    )
    assert [row["verdict"] for row in with_new_time] == ["kept"]
    assert memory.content == before


def test_what_the_answer_has_closed_is_not_asked_again_with_equal_evidence() -> None:
    memory, pending_id = asked()
    memory.confirm(pending_id, now=day(20))
    before, lisbon = memory.content, memory.of("Lisbon")
    settled = memory.say("Lisbon", evidence={"conversation_id": "c0"})
    assert (settled["verdict"], settled["replaced_by"]) == ("kept", memory.of("Berlin")["id"])
    assert memory.content == before
    # Further evidence says when it held; what is stated later asks again.
    assert memory.say("Lisbon", at=5, evidence={"conversation_id": "c5"})["entry_id"] == lisbon["id"]
    assert memory.say("Lisbon", evidence={"conversation_id": "c77"})["verdict"] == "asked"


def test_what_is_stated_after_the_answer_is_asked() -> None:
    memory, pending_id = asked()
    memory.confirm(pending_id, take="existing", now=day(20))
    again = memory.say("Berlin", at=25, evidence={"conversation_id": "c77"})
    assert again["verdict"] == "asked"
    assert again["pending_id"] != pending_id


def test_what_was_never_asked_is_settled_by_its_time() -> None:
    memory, pending_id = asked()
    memory.confirm(pending_id, take="existing", now=day(20))
    assert memory.say("Madrid", at=5)["verdict"] == "late"


def test_what_was_set_apart_is_found_again() -> None:
    memory, pending_id = asked()
    memory.confirm(pending_id, take="both", now=day(20))
    berlin = memory.of("Berlin")["id"]
    again = memory.say("Berlin", at=25, evidence={"conversation_id": "c77"})
    assert (again["verdict"], again["entry_id"]) == ("same", berlin)
    assert memory.open() == ["Berlin", "Lisbon"]


def test_no_sender_writes_an_answer() -> None:
    memory = Statements()
    forged = {"conversation_id": "c", "confirmed_by": "x", "answer": {"pending_id": "p", "at": day(30)}}
    memory.say("Lisbon", at=3, evidence=forged)
    assert memory.facts[0]["evidence"] == {"conversation_id": "c", "at": day(3)}
