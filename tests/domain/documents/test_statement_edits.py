"""Replacing and removing statements, and the times and ids that the service writes into them."""

from typing import Any

import pytest

from memnet.domain.core.errors import StatementContradicted
from memnet.domain.core.scope import Actor
from tests.domain.samples import ALICE, op
from tests.domain.statement_document import Statements, check_chain, day, fact, statement_rules


def add(value: str | None, **members: Any) -> Any:
    return op("add", "/content/facts/-", value=fact(value, **members))


# Replace and remove.


def test_replacing_an_entry_supersedes_it() -> None:
    memory = Statements()
    memory.say("Lisbon", at=3)
    old = memory.facts[0]
    (settled,) = memory.patch(op("replace", "/content/facts/0", value=old | {"value": "Berlin"}), at=9)
    assert settled["verdict"] == "superseded"
    assert memory.of("Lisbon") == old | {"valid_until": day(9), "replaced_by": settled["entry_id"]}
    assert memory.of("Berlin")["evidence"] == {"at": day(9)}
    check_chain(memory.facts)


def test_changing_a_value_in_place_supersedes_the_entry() -> None:
    memory = Statements()
    memory.say("Lisbon", at=3)
    ops = [op("replace", "/content/facts/0/value", value="Berlin"), op("add", "/content/facts/0/text", value="Moved.")]
    settled = memory.patch(*ops, evidence={"conversation_id": "c9"})
    assert [row["verdict"] for row in settled] == ["superseded"]
    assert memory.of("Berlin")["evidence"] == {"conversation_id": "c9", "at": day(30)}
    assert memory.of("Berlin")["text"] == "Moved."
    assert memory.of("Lisbon")["text"] == "User lives in Lisbon."
    check_chain(memory.facts)


def test_a_replacement_at_the_same_time_comes_after_what_it_replaces() -> None:
    memory = Statements()
    memory.say("Lisbon", at=3)
    (settled,) = memory.patch(op("replace", "/content/facts/0/value", value="Berlin"), at=3)
    assert settled["verdict"] == "superseded"
    assert memory.open() == ["Berlin"]


def test_a_replacement_is_about_the_same_thing() -> None:
    memory = Statements()
    memory.say("Lisbon", at=3)
    with pytest.raises(StatementContradicted) as refusal:
        memory.patch(op("replace", "/content/facts/0/subject", value="ada"), at=9)
    assert refusal.value.details == {"pointers": ["/content/facts/0"]}


def test_a_closed_entry_cannot_say_something_else() -> None:
    memory = Statements()
    memory.say("Lisbon", at=3)
    memory.say("Berlin", at=9)
    with pytest.raises(StatementContradicted):
        memory.patch(op("replace", "/content/facts/0/value", value="Porto"))


def test_other_members_of_an_entry_are_changed_in_place() -> None:
    memory = Statements()
    memory.say("Lisbon", at=3)
    memory.say("Berlin", at=9)
    before = memory.facts
    for index in (0, 1):
        edit = op("add", f"/content/facts/{index}/importance", value=0.9)
        (settled,) = memory.patch(edit, op("add", f"/content/facts/{index}/valid_until", value=day(1)))
        assert (settled["verdict"], settled["entry_id"]) == ("same", before[index]["id"])
    assert memory.facts == [entry | {"importance": 0.9} for entry in before]


def test_evidence_that_is_added_to_an_entry_is_dated() -> None:
    memory = Statements()
    memory.say("Lisbon", at=3, evidence={"conversation_id": "c1"})
    more = {**memory.facts[0]["evidence"], "also": [{"conversation_id": "c2"}]}
    memory.patch(op("add", "/content/facts/0/evidence", value=more), at=5)
    assert memory.facts[0]["evidence"]["also"] == [{"conversation_id": "c2", "at": day(5)}]


def test_replacing_one_of_several_closes_it() -> None:
    memory = Statements()
    memory.say("a dog", at=3, attribute="owns")
    dog = memory.facts[0]
    (settled,) = memory.patch(op("replace", "/content/facts/0/value", value="a cat"), at=9)
    assert settled["replaces"] == dog["id"]
    assert memory.open() == ["a cat"]
    assert memory.of("a dog") == dog | {"valid_until": day(9), "replaced_by": settled["entry_id"]}


def test_removing_an_entry_closes_it() -> None:
    memory = Statements()
    memory.say("Lisbon", at=3)
    assert memory.patch(op("remove", "/content/facts/0"), at=9) == []
    (entry,) = memory.facts
    assert entry["valid_until"] == day(9)
    assert "replaced_by" not in entry
    assert memory.say("Berlin", at=12)["verdict"] == "new"
    assert memory.say("Porto", at=5)["verdict"] == "late"
    assert [(one["value"], one.get("valid_until")) for one in sorted(memory.facts, key=lambda x: x["valid_from"])] == [
        ("Lisbon", day(5)),
        ("Porto", day(9)),
        ("Berlin", None),
    ]


def test_removing_a_closed_entry_takes_it_out_and_changes_no_other() -> None:
    memory = Statements()
    for at, value in [(3, "Lisbon"), (5, "Berlin"), (9, "Porto")]:
        memory.say(value, at=at)
    lisbon, _, porto = memory.facts
    memory.patch(op("remove", "/content/facts/1"))
    assert memory.facts == [lisbon, porto]
    memory.say("Porto", at=12)
    assert memory.facts[0] == lisbon
    assert memory.facts[1]["replaces"] == porto["replaces"]


def test_removing_and_adding_in_one_patch() -> None:
    memory = Statements()
    memory.say("Lisbon", at=3)
    settled = memory.patch(op("remove", "/content/facts/0"), add("Berlin"))
    assert [row["verdict"] for row in settled] == ["new"]
    assert memory.open() == ["Berlin"]
    assert memory.of("Lisbon")["valid_until"] is not None


def test_the_indices_of_a_patch_are_those_of_its_sender() -> None:
    memory = Statements()
    for number, attribute in enumerate(["a", "b", "c"]):
        memory.say(f"v{number}", at=3, attribute=attribute)
    ops = [op("remove", "/content/facts/0"), op("remove", "/content/facts/0"), op("move", "/content/notes/-")]
    ops[2]["from"] = "/content/facts/0"
    memory.patch(*ops, at=9)
    assert [entry["valid_until"] for entry in memory.facts] == [day(9)] * 3
    assert [note["value"] for note in memory.content["notes"]] == ["v2"]


# Times and ids.


def test_without_a_source_time_a_statement_comes_after_all_that_is_known() -> None:
    memory = Statements()
    memory.say("Lisbon", at=31)
    assert memory.say("Berlin")["verdict"] == "superseded"
    assert memory.of("Berlin")["valid_from"] == "2026-01-31T12:00:00.000001Z"


def test_of_two_statements_in_one_patch_the_later_holds() -> None:
    memory = Statements()
    settled = memory.patch(add("Porto"), add("Lisbon"), add("Berlin"), at=3)
    assert [row["verdict"] for row in settled] == ["new", "superseded", "superseded"]
    assert memory.open() == ["Berlin"]
    check_chain(memory.facts)


def test_a_source_time_is_compared_in_utc() -> None:
    memory = Statements()
    memory.say("Lisbon", at=3)
    memory.patch(add("Berlin"), at="2026-01-03T13:30:00+02:00")
    assert memory.open() == ["Lisbon"]


def test_an_id_in_use_is_replaced_and_a_missing_one_is_given() -> None:
    memory = Statements()
    memory.say("Lisbon", at=3, id="home")
    memory.say("Berlin", at=9, id="home")
    memory.say("Ada", at=9, attribute="name")
    ids = [entry["id"] for entry in memory.facts]
    assert ids[0] == "home"
    assert len(set(ids)) == 3
    again = Statements()
    for value, at, more in [("Lisbon", 3, {"id": "home"}), ("Berlin", 9, {"id": "home"})]:
        again.say(value, at=at, **more)
    assert [entry["id"] for entry in again.facts] == ids[:2]


def test_members_of_the_service_are_not_taken_from_a_sender() -> None:
    memory = Statements()
    evidence = {"conversation_id": "c", "at": day(1), "confirmed_by": "svc-eve", "lacks": ["value"]}
    memory.say("Lisbon", at=3, valid_from=day(1), valid_until=day(2), replaced_by="x", evidence=evidence)
    (entry,) = memory.facts
    assert entry["evidence"] == {"conversation_id": "c", "at": day(3)}
    assert entry["valid_from"] == day(3)
    assert not {"valid_until", "replaced_by"} & entry.keys()


def test_an_expired_entry_is_closed_all_the_same() -> None:
    memory = Statements()
    memory.content["facts"] = [fact("Lisbon", id="a", valid_from=day(1), expires_at=day(2))]
    assert memory.say("Berlin", at=9)["verdict"] == "superseded"


def test_entries_about_nothing_are_about_their_text() -> None:
    memory = Statements(statement_rules(about=["breed"]))
    assert memory.say("x", at=3)["verdict"] == "new"
    assert memory.say("y", at=4)["verdict"] == "new"
    assert memory.say("y", at=5)["verdict"] == "same"


def test_what_upkeep_has_moved_away_is_still_named() -> None:
    memory = Statements()
    for at, value in [(3, "Lisbon"), (5, "Berlin"), (9, "Porto")]:
        memory.say(value, at=at)
    berlin = memory.of("Berlin")["id"]
    memory.tend(op("remove", "/content/facts/1"))
    assert memory.say("Madrid", at=7)["verdict"] == "late"
    lisbon, porto, madrid = memory.facts
    assert (lisbon["valid_until"], lisbon["replaced_by"]) == (day(5), berlin)
    assert (madrid["valid_until"], madrid["replaced_by"], madrid["replaces"]) == (day(9), porto["id"], berlin)
    assert porto["replaces"] == madrid["id"]


def test_other_principals_are_no_confirmation() -> None:
    memory = Statements()
    memory.say("Lisbon", at=3, by=Actor("svc-x", frozenset()))
    assert memory.say("Berlin", at=9, by=ALICE)["verdict"] == "superseded"


def test_a_statement_at_the_end_of_the_calendar_stops_no_later_one() -> None:
    end = "9999-12-31T23:59:59.999999Z"
    memory = Statements()
    memory.say("Lisbon", at=end)
    for value in ("Berlin", "Porto", "Lisbon"):
        memory.say(value)
        check_chain(memory.facts)
    memory.patch(op("remove", "/content/facts/0"))
    assert all((entry.get("valid_until") or end) <= end for entry in memory.facts)
