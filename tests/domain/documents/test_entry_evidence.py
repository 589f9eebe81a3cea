"""The text of a durable entry does not change without the evidence that the entry carries."""

from typing import Any

import pytest

from memnet.domain.core.access import Reason
from memnet.domain.core.errors import EvidenceRequired
from tests.domain.samples import EVIDENCE, draft, op, patch_command, small_rules

OLD, OTHER = {"conversation_id": "c1", "message_ids": ["m1"]}, {"conversation_id": "c2", "message_ids": ["m9"]}
DOG = {"id": "f1", "text": "Has a dog.", "evidence": OLD, "sure": 1}
CAT = {"id": "f2", "text": "Has a cat.", "evidence": OTHER}
DEBT = "Owes 10,000."


def change(*ops: Any, content: Any = None, **members: Any) -> Any:
    rules = small_rules(durable_sections={"b": ["/facts", "/areas/*/facts", "/main"]})
    chosen = {"evidence": EVIDENCE, "confidence": 1.0} | members
    return draft(rules, patch_command(*ops, **chosen), content or {"facts": [DOG, CAT]}).content


REFUSED = {
    "the text alone": [op("replace", "/content/facts/0/text", value=DEBT)],
    "the whole entry": [op("replace", "/content/facts/0", value={**DOG, "text": DEBT})],
    "under another id": [
        op("remove", "/content/facts/0"),
        op("add", "/content/facts/-", value={**DOG, "id": "f9", "text": DEBT}),
    ],
    "the whole section": [op("replace", "/content/facts", value=[{**DOG, "text": DEBT}, CAT])],
    "two texts change places": [
        op("replace", "/content/facts/0/text", value=CAT["text"]),
        op("replace", "/content/facts/1/text", value=DOG["text"]),
    ],
    "without evidence": [op("replace", "/content/facts/0", value={"id": "f1", "text": DEBT})],
    "with empty evidence": [op("replace", "/content/facts/0", value={"id": "f1", "text": DEBT, "evidence": {}})],
}


@pytest.mark.parametrize("reason", [Reason.LIVE_UPDATE, Reason.REPLAY_UPDATE])
@pytest.mark.parametrize("ops", REFUSED.values(), ids=REFUSED)
def test_a_new_text_on_old_evidence_is_refused(ops: list[Any], reason: Reason) -> None:
    with pytest.raises(EvidenceRequired) as refused:
        change(*ops, reason=reason)
    assert refused.value.details == {"path": "/content/facts"}
    assert "evidence does not" in refused.value.message


ALLOWED = {
    "with new evidence": [op("replace", "/content/facts/0", value={**DOG, "text": DEBT, "evidence": OTHER})],
    "with more evidence": [
        op("replace", "/content/facts/0/text", value=DEBT),
        op("add", "/content/facts/0/evidence/message_ids/-", value="m2"),
    ],
    "the same text otherwise written": [op("replace", "/content/facts/0/text", value="has a dog")],
    "another member": [op("replace", "/content/facts/0/sure", value=0.5)],
    "another place": [op("move", "/content/facts/1", from_="/content/facts/0")],
    "a removal": [op("remove", "/content/facts/0")],
    "a second fact from the same message": [op("add", "/content/facts/-", value={**DOG, "id": "f3", "text": DEBT})],
}


@pytest.mark.parametrize("ops", ALLOWED.values(), ids=ALLOWED)
def test_what_keeps_text_and_evidence_together_is_not(ops: list[Any]) -> None:
    change(*ops)


def test_sections_of_many_places_and_of_one_entry_are_held_to_it() -> None:
    content = {"areas": {"a": {"facts": [DOG]}}, "main": DOG}
    for path in ("/content/areas/a/facts/0/text", "/content/main/text"):
        with pytest.raises(EvidenceRequired):
            change(op("replace", path, value=DEBT), content=content)


def test_an_entry_takes_its_evidence_to_another_section_with_its_text_only() -> None:
    content = {"facts": [DOG], "areas": {"a": {"facts": []}}}
    move = op("move", "/content/areas/a/facts/-", from_="/content/facts/0")
    assert change(move, content=content)["areas"]["a"]["facts"] == [DOG]
    with pytest.raises(EvidenceRequired) as refused:
        change(move, op("replace", "/content/areas/a/facts/0/text", value=DEBT), content=content)
    assert refused.value.details == {"path": "/content/areas/a/facts"}


def test_a_removal_does_not_ask_another_section_for_evidence() -> None:
    content = {"facts": [DOG], "areas": {"a": {"facts": []}}}
    change(
        op("remove", "/content/facts/0"), op("add", "/content/areas/a/facts/-", value={"text": DEBT}), content=content
    )


def test_entries_that_carry_no_evidence_are_not_asked_for_any() -> None:
    assert change(op("replace", "/content/facts/0", value="b"), content={"facts": ["a"]}) == {"facts": ["b"]}
    assert change(op("replace", "/content/facts/0/text", value="b"), content={"facts": [{"text": "a"}]}) == {
        "facts": [{"text": "b"}]
    }
