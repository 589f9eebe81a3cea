"""The verdicts of the gate on statements."""

from dataclasses import replace
from typing import Any

import pytest

from memnet.domain.core.access import Reason, Role
from memnet.domain.core.errors import RoleRequired
from tests.domain.samples import BOB, op
from tests.domain.statement_document import SERVICE, Statements, check_chain, day, fact, statement_rules


def add(value: str | None, **members: Any) -> Any:
    return op("add", "/content/facts/-", value=fact(value, **members))


# One test for each verdict.


def test_new_is_what_nothing_is_known_about() -> None:
    memory = Statements()
    settled = memory.say("Lisbon", at=3, evidence={"conversation_id": "c1"})
    (entry,) = memory.facts
    assert settled == {"op_index": 0, "verdict": "new", "entry_id": entry["id"]}
    assert entry["valid_from"] == day(3)
    assert "valid_until" not in entry
    assert entry["evidence"] == {"conversation_id": "c1", "at": day(3)}


def test_same_adds_evidence_and_nothing_else() -> None:
    memory = Statements()
    memory.say("Lisbon", at=3, confidence=0.7, importance=0.2, last_verified_at=day(3))
    (before,) = memory.facts
    changed = {"text": "Lisbon is home.", "importance": 0.9, "confidence": 0.8, "last_verified_at": day(5)}
    settled = memory.say("  LISBON", at=5, **changed)
    (after,) = memory.facts
    assert settled == {"op_index": 0, "verdict": "same", "entry_id": before["id"]}
    assert [item["at"] for item in [after["evidence"], *after["evidence"]["also"]]] == [day(3), day(5)]
    origins = {"confidence": 0.8, "last_verified_at": day(5), "evidence": after["evidence"]}
    assert after == before | origins


def test_same_keeps_the_higher_confidence_and_the_newer_verification() -> None:
    memory = Statements()
    memory.say("Lisbon", at=3, confidence=0.9, last_verified_at=day(5))
    memory.say("Lisbon", at=4, confidence=0.7, last_verified_at=day(4))
    (entry,) = memory.facts
    assert (entry["confidence"], entry["last_verified_at"]) == (0.9, day(5))


def test_the_same_observation_twice_changes_nothing() -> None:
    memory = Statements()
    memory.say("Lisbon", at=3, evidence={"conversation_id": "c1"})
    before = memory.content
    assert memory.say("Lisbon", at=3, evidence={"conversation_id": "c1"})["verdict"] == "same"
    assert memory.content == before
    assert memory.decision is not None
    assert memory.decision.ops == []


def test_another_value_may_be_open_where_the_rule_says_several() -> None:
    memory = Statements()
    assert memory.say("a dog", at=3, attribute="owns")["verdict"] == "new"
    assert memory.say("a cat", at=4, attribute="Owns")["verdict"] == "beside"
    assert memory.say("A dog", at=5, attribute="owns")["verdict"] == "same"
    assert memory.say("Ada", at=5, attribute="knows")["verdict"] == "new"
    assert memory.open() == ["Ada", "a cat", "a dog"]


def test_completed_is_the_same_and_more() -> None:
    memory = Statements()
    first = memory.say("Biscuit", at=3, attribute="dog", colour="brown", confidence=0.9)
    second = memory.say("Biscuit", at=5, attribute="dog", breed="beagle", confidence=0.7)
    assert second["verdict"] == "completed"
    assert second["replaces"] == first["entry_id"]
    old, new = memory.facts
    assert (new["breed"], new["colour"], new["confidence"]) == ("beagle", "brown", 0.7)
    assert "breed" not in old
    check_chain(memory.facts)
    # What says less than the union is the same.
    assert memory.say("Biscuit", at=6, attribute="dog", breed="beagle")["verdict"] == "same"


def test_a_value_completes_what_had_none() -> None:
    memory = Statements()
    memory.say(None, at=3, attribute="graduated")
    assert memory.say("with honours", at=5, attribute="graduated")["verdict"] == "completed"
    assert memory.say(None, at=6, attribute="graduated")["verdict"] == "same"
    check_chain(memory.facts)


def test_late_is_closed_where_a_later_statement_is_known() -> None:
    memory = Statements()
    berlin = memory.say("Berlin", at=9)["entry_id"]
    settled = memory.say("Lisbon", at=3)
    lisbon = memory.of("Lisbon")
    assert settled == {"op_index": 0, "verdict": "late", "entry_id": lisbon["id"], "replaced_by": berlin}
    assert (lisbon["valid_from"], lisbon["valid_until"]) == (day(3), day(9))
    assert memory.open() == ["Berlin"]
    check_chain(memory.facts)


def test_late_splits_what_held_before_and_after() -> None:
    memory = Statements()
    berlin = memory.say("Berlin", at=3)["entry_id"]
    memory.say("Berlin", at=9)
    assert memory.say("Lisbon", at=5)["verdict"] == "late"
    rows = sorted((entry["valid_from"], entry.get("valid_until"), entry["value"]) for entry in memory.facts)
    assert rows == [(day(3), day(5), "Berlin"), (day(5), day(9), "Lisbon"), (day(9), None, "Berlin")]
    (still,) = [entry for entry in memory.facts if not entry.get("valid_until")]
    assert still["id"] == berlin
    check_chain(memory.facts)


@pytest.mark.parametrize("rule", [{"on_contradiction": "ask"}, {"unless_less_sure_by": 0.1}])
def test_late_is_never_asked_because_the_open_entry_stays(rule: dict[str, Any]) -> None:
    memory = Statements(statement_rules(**rule))
    memory.say("Berlin", at=3, confidence=0.9)
    memory.say("Berlin", at=9, confidence=0.9)
    assert memory.say("Lisbon", at=5, confidence=0.3)["verdict"] == "late"
    assert memory.open() == ["Berlin"]


def test_superseded_closes_the_earlier_one_with_time_and_successor() -> None:
    memory = Statements()
    lisbon = memory.say("Lisbon", at=3)["entry_id"]
    settled = memory.say("Berlin", at=9)
    berlin = memory.of("Berlin")["id"]
    assert settled == {"op_index": 0, "verdict": "superseded", "entry_id": berlin, "replaces": lisbon}
    old = memory.of("Lisbon")
    assert (old["valid_until"], old["replaced_by"]) == (day(9), berlin)
    check_chain(memory.facts)


def test_back_to_an_earlier_value_is_a_new_entry() -> None:
    memory = Statements()
    for at, value in enumerate(["Lisbon", "Berlin", "Lisbon"], start=3):
        memory.say(value, at=at)
    assert memory.settled[0]["verdict"] == "superseded"
    assert memory.open() == ["Lisbon"]
    assert len(memory.facts) == 3
    check_chain(memory.facts)


@pytest.mark.parametrize(("sure", "verdict"), [(0.7, "superseded"), (0.69, "asked"), (None, "asked")])
def test_asked_is_what_is_less_sure_by_more_than_the_margin(sure: float | None, verdict: str) -> None:
    memory = Statements(statement_rules(unless_less_sure_by=0.2))
    memory.say("Lisbon", at=3, confidence=0.9)
    settled = memory.say("Berlin", at=9, confidence=sure)
    assert settled["verdict"] == verdict
    assert memory.open() == (["Berlin"] if verdict == "superseded" else ["Lisbon"])


def test_asked_makes_a_pending_item_with_the_question() -> None:
    memory = Statements(statement_rules(on_contradiction="ask"))
    lisbon = memory.say("Lisbon", at=3)["entry_id"]
    settled = memory.say("Berlin {old}", at=9)
    (item,) = memory.waiting
    asked = {"op_index": 0, "verdict": "asked", "entry_id": None, "replaced_by": lisbon, "pending_id": item["id"]}
    assert settled == asked
    assert item["question"] == "Earlier: User lives in Lisbon. Now: User lives in Berlin {old}. Which holds?"
    assert (item["decides"], item["text"]) == ("user", "User lives in Berlin {old}.")
    assert item["target"]["path"] == "/content/facts/-"
    assert item["target"]["value"]["evidence"]["at"] == day(9)
    assert memory.open() == ["Lisbon"]


def test_what_is_asked_already_gets_the_evidence() -> None:
    memory = Statements(statement_rules(on_contradiction="ask"))
    memory.say("Lisbon", at=3)
    first = memory.say("Berlin", at=9)
    assert memory.say("berlin", at=12)["pending_id"] == first["pending_id"]
    (item,) = memory.waiting
    assert [one["at"] for one in item["target"]["value"]["evidence"]["also"]] == [day(12)]
    assert len(item["choices"]) == 2


def test_kept_drops_the_later_statement() -> None:
    memory = Statements(statement_rules(on_contradiction="keep"))
    lisbon = memory.say("Lisbon", at=3)["entry_id"]
    assert memory.say("Berlin", at=9) == {
        "op_index": 0,
        "verdict": "kept",
        "entry_id": None,
        "replaced_by": lisbon,
    }
    assert [entry["value"] for entry in memory.facts] == ["Lisbon"]
    assert memory.say("Porto", at=1)["verdict"] == "late"


def test_asked_is_kept_without_a_pending_section() -> None:
    memory = Statements(statement_rules(pending=False, on_contradiction="ask"))
    memory.say("Lisbon", at=3)
    assert memory.say("Berlin", at=9)["verdict"] == "kept"
    assert memory.open() == ["Lisbon"]


def test_a_patch_that_doubts_what_it_is_about_asks() -> None:
    memory = Statements()
    lisbon = memory.say("Lisbon", at=3)["entry_id"]
    (settled,) = memory.patch(add("Berlin", attribute="stays in"), at=9, asks_about=lisbon)
    assert (settled["verdict"], settled["replaced_by"]) == ("asked", lisbon)
    (item,) = memory.waiting
    assert item["question"].startswith("Earlier: User lives in Lisbon.")
    # What the document says already is no question, and neither is what names no open entry.
    assert memory.patch(add("Lisbon"), at=10, asks_about=lisbon)[0]["verdict"] == "same"
    assert memory.patch(add("x", attribute="y"), at=10, asks_about="gone")[0]["verdict"] == "new"
    (settled,) = memory.confirm(item["id"])
    assert settled["verdict"] == "new"


# What a confirmation decided.


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_confirmations_in_any_order_end_with_the_later_statement(order: tuple[int, int]) -> None:
    rules = statement_rules()
    profile = rules.profile.model_copy(
        update={"durable_sections": {"b": ("/facts",)}, "durable_writes": "confirmed_only"}
    )
    memory = Statements(type(rules)(profile, rules.binding, rules.schema))
    for at, value in [(3, "Lisbon"), (9, "Berlin")]:
        memory.patch(add(value), at=at, evidence={"conversation_id": f"c{at}"}, confidence=0.5)
    ids = [item["id"] for item in memory.waiting]
    for index in order:
        memory.confirm(ids[index])
    assert memory.waiting == []
    assert memory.open() == ["Berlin"]
    lisbon = memory.of("Lisbon")
    assert (lisbon["valid_from"], lisbon["valid_until"]) == (day(3), day(9))
    check_chain(memory.facts)


def confirmed() -> Statements:
    """Bob has confirmed that the user lives in Berlin."""
    memory = Statements(statement_rules(on_contradiction="ask"))
    memory.say("Lisbon", at=3)
    pending_id = memory.say("Berlin", at=9)["pending_id"]
    (settled,) = memory.confirm(pending_id, now=day(10))
    assert settled["verdict"] == "superseded"
    assert memory.waiting == []
    rules = statement_rules()
    memory.rules = rules
    return memory


def test_a_confirmed_entry_is_closed_by_who_confirmed_it_alone() -> None:
    memory = confirmed()
    assert memory.say("Porto", at=12)["verdict"] == "asked"
    assert memory.open() == ["Berlin"]
    assert memory.say("Porto", at=12, by=BOB)["verdict"] == "superseded"


def test_a_confirmed_entry_is_completed_by_who_confirmed_it_alone() -> None:
    memory = confirmed()
    assert memory.say("Berlin", at=12, breed="x")["verdict"] == "asked"
    assert memory.say("Berlin", at=12)["verdict"] == "same"


def test_a_replay_for_the_principal_that_confirmed_is_not_asked() -> None:
    memory = confirmed()
    members: dict[str, Any] = {"reason": Reason.REPLAY_UPDATE, "confidence": 0.9, "by": SERVICE}
    members["evidence"] = {"conversation_id": "c"}
    (settled,) = memory.patch(add("Porto"), at=12, on_behalf_of=BOB.principal, **members)
    assert settled["verdict"] == "superseded"


def test_a_confirmation_that_comes_late_is_dated_by_its_statement() -> None:
    memory = Statements(statement_rules(on_contradiction="ask"))
    memory.say("Lisbon", at=3)
    pending_id = memory.say("Berlin", at=9)["pending_id"]
    memory.rules = statement_rules()
    memory.say("Porto", at=12)
    (settled,) = memory.confirm(pending_id)
    assert settled["verdict"] == "late"
    assert memory.open() == ["Porto"]
    check_chain(memory.facts)


def test_a_patch_that_confirms_counts_from_the_statement_too() -> None:
    memory = Statements(statement_rules(on_contradiction="ask"))
    memory.say("Lisbon", at=3)
    memory.say("Berlin", at=9)
    ops = [
        op("copy", "/content/facts/-", from_="/content/waiting/0/target/value"),
        op("remove", "/content/waiting/0"),
    ]
    with pytest.raises(RoleRequired):
        memory.patch(*ops, by=BOB)
    (settled,) = memory.patch(*ops, by=replace(BOB, roles=frozenset({Role.WRITE})))
    assert settled["verdict"] == "superseded"
    berlin = memory.of("Berlin")
    assert berlin["valid_from"] == day(9)
    assert berlin["evidence"]["also"][0]["confirmed_by"] == BOB.principal
