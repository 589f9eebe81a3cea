"""Sensitive content is refused by its value, with its place and kind; what is stored already is not looked at."""

from typing import Any

import pytest

from memnet.domain.catalog.rules import STRICTEST, Kind, SensitiveContent
from memnet.domain.core.access import Reason
from memnet.domain.core.errors import FieldDenied
from memnet.domain.documents.sensitive import check_content, check_event
from memnet.domain.events.event import Event
from tests.domain.event_samples import event_body
from tests.domain.samples import EVIDENCE, draft, op, patch_command, small_rules

CARD = "4111 1111 1111 1111"
RULES = small_rules()


def refusal(*ops: Any, rules: Any = RULES, content: Any = None, **members: Any) -> dict[str, Any]:
    with pytest.raises(FieldDenied) as refused:
        draft(rules, patch_command(*ops, **members), content or {"a": []})
    assert CARD not in str(refused.value.details) + refused.value.message
    return refused.value.details


@pytest.mark.parametrize("reason", [Reason.LIVE_UPDATE, Reason.REPLAY_UPDATE])
def test_a_value_is_refused_with_its_place_and_kind(reason: Reason) -> None:
    value = {"facts": ["x", {"text": f"Pays with {CARD}."}]}

    details = refusal(op("add", "/content/b", value=1), op("add", "/content/a/-", value=value), reason=reason)

    assert details == {"op_index": 1, "path": "/content/a/-/facts/1/text", "kind": "card_number"}


def test_a_name_is_a_value_too_and_is_not_told() -> None:
    assert refusal(op("add", "/content/a/-", value={"b": {CARD: 1}})) == {
        "op_index": 0,
        "path": "/content/a/-/b",
        "kind": "card_number",
    }
    assert refusal(op("add", f"/content/{CARD}", value=1)) == {"op_index": 0, "kind": "card_number"}
    assert refusal(op("copy", f"/content/{CARD}", from_="/content/a")) == {"op_index": 0, "kind": "card_number"}


def test_numbers_and_evidence_are_looked_at() -> None:
    for number in (4111111111111111, 4111111111111111.0, -4111111111111111):
        assert refusal(op("add", "/content/a/-", value=number))["path"] == "/content/a/-"
    evidence = EVIDENCE | {"quote": "my password is hunter2"}
    assert refusal(op("add", "/content/a/-", value=1), evidence=evidence) == {
        "path": "/evidence/quote",
        "kind": "password",
    }


def test_what_is_stored_already_blocks_nothing() -> None:
    stored = {"a": [CARD], "b": 1}
    changes = [op("test", "/content/a/0", value=CARD), op("replace", "/content/b", value=2)]
    moved = [op("move", "/content/a/1", from_="/content/a/0")]

    assert draft(RULES, patch_command(*changes), stored).content == {"a": [CARD], "b": 2}
    assert draft(RULES, patch_command(*moved), {"a": [CARD, "x"]}).content == {"a": ["x", CARD]}


def test_nothing_sensitive_waits_for_a_confirmation() -> None:
    rules = small_rules(durable_sections={"b": ["/a"]}, pending_sections={"b": "/pending"})
    content: dict[str, Any] = {"a": [], "pending": []}

    assert refusal(op("add", "/content/a/-", value=CARD), rules=rules, content=content)["kind"] == "card_number"


def test_a_profile_relaxes_and_extends_the_rules() -> None:
    sensitive = SensitiveContent(allow=(Kind.CARD_NUMBER,), shapes={"staff_number": "EMP-####"})
    rules = small_rules(sensitive_content=sensitive.model_dump(mode="json"))

    assert draft(rules, patch_command(op("add", "/content/a/-", value=CARD)), {"a": []}).content == {"a": [CARD]}
    assert refusal(op("add", "/content/a/-", value="EMP-1234"), rules=rules)["kind"] == "staff_number"


def test_texts_that_are_harmless_one_by_one_are_not_taken_for_one() -> None:
    check_content(["password:", "sunshine-4", "4111 1111", "1111 1111"], STRICTEST)


def test_an_event_is_looked_at_in_all_its_texts() -> None:
    check_event(Event(**event_body()))
    for members, path in (
        ({"digest": f"Paid with {CARD}."}, "/digest"),
        ({"keywords": ["a", CARD]}, "/keywords/1"),
        ({"entities": [CARD]}, "/entities/0"),
        ({"evidence": {"quote": CARD}}, "/evidence/quote"),
    ):
        with pytest.raises(FieldDenied) as refused:
            check_event(Event.model_validate(event_body() | members))
        assert refused.value.details == {"path": path, "kind": "card_number"}
