"""A contradiction that arises while its question waits joins the question."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memnet.domain.core.access import Role
from memnet.domain.core.errors import MemnetError, SchemaViolation
from memnet.domain.core.scope import Actor
from memnet.domain.documents.statement_question import MAX_CHOICES, MAX_PROPOSERS
from tests.domain.samples import ALICE, BOB, op
from tests.domain.statement_document import Statements, check_chain, day, fact, statement_rules

ASKS: dict[str, Any] = {"on_contradiction": "ask"}


def asked() -> tuple[Statements, str]:
    memory = Statements(statement_rules(**ASKS))
    memory.say("Lisbon", at=3)
    return memory, str(memory.say("Berlin", at=9)["pending_id"])


def texts(item: dict[str, Any]) -> list[str]:
    return [str(choice).removeprefix("User lives in ").removesuffix(".") for choice in item["choices"]]


def test_a_further_value_is_one_more_choice_with_its_evidence_and_time() -> None:
    memory, pending_id = asked()
    settled = memory.say("Porto", at=12, evidence={"conversation_id": "c9"}, by=BOB)
    (item,) = memory.waiting
    assert (settled["verdict"], settled["pending_id"], item["id"]) == ("asked", pending_id, pending_id)
    assert texts(item) == ["Lisbon", "Berlin", "Porto"]
    proposed = "User lives in Berlin. / User lives in Porto."
    assert item["question"] == f"Earlier: User lives in Lisbon. Now: {proposed} Which holds?"
    (other,) = item["alternatives"]
    assert other["target"]["value"]["evidence"] == {"conversation_id": "c9", "at": day(12)}
    assert (other["proposed_by"], item["proposed_by"]) == (BOB.principal, ALICE.principal)
    assert "question" not in other


def test_an_equal_value_of_anyone_is_more_evidence_of_its_choice() -> None:
    memory, _ = asked()
    memory.say("Porto", at=12)
    before = memory.waiting[0]["choices"]
    memory.say("porto", at=13, by=BOB, evidence={"conversation_id": "c9"})
    (item,) = memory.waiting
    assert item["choices"] == before
    evidence = item["alternatives"][0]["target"]["value"]["evidence"]
    assert [one["at"] for one in [evidence, *evidence["also"]]] == [day(12), day(13)]
    assert item["also_proposed_by"] == [BOB.principal]


def test_two_contradictions_of_one_patch_are_one_question() -> None:
    memory = Statements(statement_rules(**ASKS))
    memory.say("Lisbon", at=3)
    ops = [op("add", "/content/facts/-", value=fact(town)) for town in ("Berlin", "Porto", "Berlin")]
    settled = memory.patch(*ops, at=9)
    (item,) = memory.waiting
    assert {row["pending_id"] for row in settled} == {item["id"]}
    assert texts(item) == ["Lisbon", "Berlin", "Porto"]


def test_a_question_about_another_thing_is_another_one() -> None:
    memory, pending_id = asked()
    memory.say("Bern", at=4, attribute="works in")
    assert memory.say("Basel", at=5, attribute="works in")["pending_id"] != pending_id
    assert len(memory.waiting) == 2


def test_a_full_question_takes_no_more_choices() -> None:
    memory, _ = asked()
    for number in range(MAX_CHOICES - 2):
        assert memory.say(f"town {number}", at=10)["verdict"] == "asked"
    before = memory.content
    settled = memory.say("one more", at=11)
    assert (settled["verdict"], "pending_id" in settled) == ("kept", False)
    assert memory.content == before
    assert len(memory.waiting[0]["choices"]) == MAX_CHOICES
    assert memory.say("town 0", at=12)["verdict"] == "asked"


def test_a_question_keeps_a_bounded_number_of_proposers() -> None:
    memory, _ = asked()
    for number in range(MAX_PROPOSERS):
        assert memory.say("Berlin", at=10, by=Actor(f"svc-{number}", frozenset()))["verdict"] == "asked"
    assert memory.say("Berlin", at=10, by=Actor("one-more", frozenset()))["verdict"] == "kept"


def test_if_another_entry_is_open_the_question_is_asked_again_under_a_new_id() -> None:
    memory, pending_id = asked()
    memory.rules = statement_rules()
    oslo = memory.say("Oslo", at=10)["entry_id"]
    memory.rules = statement_rules(**ASKS)
    again = memory.say("Porto", at=12)["pending_id"]
    (item,) = memory.waiting
    assert again not in (None, pending_id)
    assert (item["id"], item["contradicts"], texts(item)) == (again, oslo, ["Oslo", "Berlin", "Porto"])
    memory.confirm(again, take="existing")
    assert memory.open() == ["Oslo"]


def test_a_proposal_that_waited_before_the_entry_was_open_becomes_the_question() -> None:
    memory = Statements(statement_rules(**ASKS))
    memory.say("Lisbon", at=3)
    memory.say("Berlin", at=9)
    (item,) = memory.waiting
    plain = {name: value for name, value in item.items() if name not in ("question", "choices", "contradicts")}
    memory.content["waiting"] = [plain]
    memory.say("Berlin", at=10)
    (now,) = memory.waiting
    assert (now["id"], now["contradicts"], now["choices"]) == (item["id"], item["contradicts"], item["choices"])


TOWNS = ("Lisbon", "Berlin", "Porto", "Oslo")
PEOPLE = [Actor(name, frozenset({Role.READ, Role.WRITE})) for name in ("svc-alice", "svc-bob", "svc-eve")]
STEPS = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(TOWNS), st.integers(1, 28), st.sampled_from(PEOPLE)),
    st.tuples(
        st.sampled_from(["proposed", "existing", "both", "reject"]),
        st.integers(1, 3),
        st.integers(29, 30),
        st.sampled_from(PEOPLE),
    ),
    st.tuples(st.just("remove"), st.just(0), st.integers(1, 28), st.sampled_from(PEOPLE)),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, min_size=3, max_size=14))
def test_whatever_is_said_and_answered_one_entry_is_open_and_one_question_waits(steps: list[Any]) -> None:
    memory = Statements(statement_rules(**ASKS))
    apart = 0
    for kind, what, when, who in steps:
        before = memory.content
        waits = memory.waiting[0] if memory.waiting else None
        try:
            if kind == "say":
                memory.say(what, at=when, by=who)
            elif kind == "remove":
                memory.patch(op("remove", "/content/facts/0"), at=when, by=who)
            elif waits is not None and kind == "reject":
                memory.reject(waits["id"], by=who)
            elif waits is not None:
                members = {"take": kind} | ({} if kind == "existing" else {"choice": what})
                memory.confirm(waits["id"], by=who, now=day(when), **members)
                apart += kind == "both"
        except MemnetError:
            assert memory.content == before
            continue
        questions = [(item["target"]["value"].get("aspect")) for item in memory.waiting]
        assert len(questions) == len(set(questions))
        held = [entry for entry in memory.facts if not entry.get("valid_until")]
        things = [entry.get("aspect") for entry in held]
        assert len(things) == len(set(things))
        assert len(held) <= 1 + apart
        for item in memory.waiting:
            assert len(item["choices"]) == len(item.get("alternatives", ())) + 2
    assert memory.content is not None


def test_the_chain_of_what_held_is_whole_after_an_answer() -> None:
    memory, pending_id = asked()
    memory.say("Porto", at=12)
    memory.confirm(pending_id, choice=2)
    check_chain(memory.facts)


def test_a_statement_that_no_answer_could_write_is_refused_and_not_asked() -> None:
    memory = Statements(statement_rules(on_contradiction="ask"))
    memory.say("Lisbon", at=3)
    before = memory.content
    with pytest.raises(SchemaViolation) as refused:
        memory.say("Berlin", at=9, importance="very")
    assert refused.value.param == "/ops/0/value"
    assert memory.content == before
