"""A context has one question for the user at a time: the oldest that the service made and that the user decides."""

from typing import Any

import pytest

from memnet.domain.context.clarification import clarification, pending_items
from tests.domain.statement_document import Statements, statement_rules

RULES = statement_rules(on_contradiction="ask")


def item(name: str, day: int, **members: Any) -> dict[str, Any]:
    """A pending item with a question, of this day."""
    made: dict[str, Any] = {"id": name, "profile_id": "p", "binding_id": "b", "question": f"{name}?"}
    made |= {"decides": "user", "choices": ["old", "new"], "proposed_at": f"2026-01-{day:02}T00:00:00Z"}
    return {member: value for member, value in (made | members).items() if value is not None}


def asked(*items: Any) -> Any:
    return clarification(RULES.profile, [("b", one) for one in items])


def test_the_question_of_a_contradiction_has_both_answers() -> None:
    memory = Statements(RULES)
    memory.say("Lisbon", at=3)
    pending_id = memory.say("Berlin", at=9)["pending_id"]
    assert clarification(RULES.profile, pending_items(RULES.profile, "b", memory.content)) == {
        "pending_id": pending_id,
        "binding_id": "b",
        "question": "Earlier: User lives in Lisbon. Now: User lives in Berlin. Which holds?",
        "choices": ["User lives in Lisbon.", "User lives in Berlin."],
    }


def test_the_oldest_is_asked_first_and_equal_ones_by_their_ids() -> None:
    assert asked(item("b", 2), item("c", 1), item("a", 2))["pending_id"] == "c"
    assert asked(item("b", 2), item("a", 2))["pending_id"] == "a"


@pytest.mark.parametrize(
    "members",
    [
        {"decides": "tenant"},
        {"decides": None},
        {"question": None},
        {"choices": None},
        {"proposed_at": 7},
        {"question": ["which"]},
        {"id": 7},
    ],
)
def test_no_other_item_asks_the_user(members: dict[str, Any]) -> None:
    assert asked(item("a", 1, **members)) is None


def test_every_profile_that_sees_the_question_asks_it_under_its_own_binding() -> None:
    found = asked(item("a", 1, profile_id="another", binding_id="theirs"))
    assert (found["pending_id"], found["binding_id"]) == ("a", "b")
    assert clarification(RULES.profile, [("unseen", item("a", 1))]) is None


def test_a_document_with_two_bindings_asks_once() -> None:
    pending = {"b": "/waiting", "c": "/waiting"}
    profile = RULES.profile.model_copy(update={"pending_sections": pending})
    found = clarification(profile, [("c", item("a", 1)), ("b", item("a", 1))])
    assert found is not None
    assert found["binding_id"] == "b"


@pytest.mark.parametrize("content", [None, {}, {"waiting": "text"}, {"waiting": ["text", 1, None]}])
def test_without_items_nothing_is_asked(content: Any) -> None:
    assert clarification(RULES.profile, pending_items(RULES.profile, "b", content)) is None


def test_a_binding_without_a_pending_section_has_no_items() -> None:
    content = {"waiting": [item("a", 1)]}
    assert pending_items(RULES.profile, "b", content) == [("b", content["waiting"][0])]
    assert pending_items(RULES.profile, "another", content) == []


def test_a_question_about_an_entry_that_is_closed_is_not_asked() -> None:
    memory = Statements(RULES)
    memory.say("Lisbon", at=3)
    memory.say("Berlin", at=9)
    (entry,) = memory.content["facts"]
    entry["valid_until"] = "2026-02-01T00:00:00.000000Z"
    assert clarification(RULES.profile, pending_items(RULES.profile, "b", memory.content)) is None
