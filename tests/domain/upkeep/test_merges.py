"""A change of upkeep names which entries it merged into which, so that blame follows them."""

from typing import Any

from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.upkeep.maintenance import EntryAction, MaintenancePlan, Step
from memnet.domain.upkeep.merges import merged_rows

FACTS = (SectionUpkeep(section="/facts"),)


def plan(content: Any, *steps: Step) -> MaintenancePlan:
    return MaintenancePlan(ops=[], steps=steps, details=(), kept_for_space=0, content=content)


def merged(entry: Any, into: Any, action: EntryAction = EntryAction.MERGED) -> Step:
    return Step("/facts", action, entry, into)


def test_entries_with_equal_texts_are_found_by_value_id_or_text() -> None:
    one, other, third = {"text": "A."}, {"text": "a", "n": 1}, {"id": "f3", "text": "A"}
    joint = {"text": "A.", "evidence": {"event_id": "e1"}}
    before = {"facts": [other, {"text": "B."}, one, third]}
    made = plan({"facts": [{"text": "B."}, joint]}, merged(other, joint), merged(third, joint))
    expected = [{"from": ["/content/facts/0", "/content/facts/3"], "into": "/content/facts/1"}]
    assert merged_rows(before, made, FACTS, None) == expected


def test_a_text_that_waits_joins_the_entry_and_those_that_it_names() -> None:
    facts = [{"id": f"f{number}", "text": f"Text {number}."} for number in range(3)]
    item = {"id": "p1", "text": "Text.", "merges": ["f2"]}
    made = plan({"facts": facts, "waiting": [item]}, merged(facts[0], item, EntryAction.PROPOSED))
    expected = [{"from": ["/content/facts/0", "/content/facts/2"], "into": "/content/waiting/0"}]
    assert merged_rows({"facts": facts}, made, FACTS, "/waiting") == expected
    assert merged_rows({"facts": facts}, made, FACTS, None) == []


def test_what_is_only_removed_is_merged_into_nothing() -> None:
    made = plan({"facts": []}, Step("/facts", EntryAction.EXPIRED, {"text": "A."}))
    assert merged_rows({"facts": [{"text": "A."}]}, made, FACTS, None) == []
