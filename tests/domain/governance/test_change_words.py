"""The words for a change."""

from typing import Any

import pytest

from memnet.domain.governance.change_words import MAX_TEXT, MAX_WORDS, change_words
from memnet.domain.history.origin import Origin, traced
from tests.domain.statement_samples import BERLIN, LISBON, statement

HELD = [LISBON, statement("s0", "Porto", "2025-01-01", "2026-01-01", replaced_by="s1")]
BEFORE = traced({"preferences": ["Be brief.", "Use charts."], "facts": HELD}, Origin(sequence=1, timestamp="t"))


def words(*ops: dict[str, Any], reason: str = "live_update", **members: Any) -> list[str]:
    return list(change_words({"ops": list(ops), "reason": reason, "settled": []} | members, BEFORE))


def op(verb: str, path: str, value: Any = None, **more: str) -> dict[str, Any]:
    return {"op": verb, "path": path, "value": value, **more}


FACT = {"id": "f1", "text": "Lives in Bern.", "confidence": 0.9}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (op("add", "/content", {}), "wrote the document"),
        (op("remove", "/content"), "deleted the document"),
        (op("add", "/content/preferences/-", "Be kind."), 'added to Preferences: "Be kind."'),
        (op("add", "/content/durable_facts/-", FACT), 'added to Durable facts: "Lives in Bern."'),
        (op("replace", "/content/facets/stage", "beta"), 'changed Facets, Stage to: "beta"'),
        (
            op("add", "/content/facets", {"stage": "beta", "team_size": 3}),
            'added to Facets: "stage: beta; team size: 3"',
        ),
        (op("remove", "/content/preferences/1"), 'removed from Preferences: "Use charts."'),
        (op("move", "/content/b", **{"from": "/content/a"}), "move A to B"),
    ],
)
def test_an_operation_is_a_phrase(change: dict[str, Any], expected: str) -> None:
    assert words(change) == [expected]


CLOSED = [
    op("add", "/content/facts/0/valid_until", "2026-05-03T00:00:00.000000Z"),
    op("add", "/content/facts/0/replaced_by", "s2"),
]
MOVED = {"op_index": 0, "verdict": "superseded", "entry_id": "s2", "replaces": "s1"}


def test_a_statement_and_the_one_that_it_replaced_are_one_phrase() -> None:
    ops = [*CLOSED, op("add", "/content/facts/-", BERLIN)]
    phrase = 'replaced in Facts: "Lives in Lisbon." with "Lives in Berlin."'
    assert words(*ops, settled=[MOVED]) == [phrase]
    removal = op("remove", "/content/pending/0")
    assert words(removal, *ops, reason="confirmation", settled=[MOVED]) == [f"confirmed: {phrase}"]
    # Its predecessor is in an event, or nothing is known of the version before.
    assert words(*ops[2:], settled=[{**MOVED, "replaces": "s9"}]) == ['added to Facts: "Lives in Berlin."']
    assert change_words({"ops": ops, "reason": "live_update", "settled": [MOVED]}, None)[0].startswith("added to Facts")


def test_a_statement_that_held_earlier_is_called_so() -> None:
    late = {"op_index": 0, "verdict": "late", "entry_id": "s5", "replaces": "s0", "replaced_by": "s1"}
    ops = [op("replace", "/content/facts/1/replaced_by", "s5"), op("add", "/content/facts/-", {**BERLIN, "id": "s5"})]
    assert words(*ops, settled=[late]) == ['added to Facts, as what held earlier: "Lives in Berlin."']
    other = op("add", "/content/facts/0/topic", "home")
    assert words(other, settled=[{**late, "replaced_by": "s7"}]) == ['added to Facts, Topic: "home"']


def test_only_the_first_removal_says_what_was_removed() -> None:
    removals = [op("remove", "/content/preferences/0") for _ in range(2)]
    assert words(*removals) == ['removed from Preferences: "Be brief."', "removed from Preferences"]


def test_decisions_about_proposals_are_called_so() -> None:
    taken, added = op("remove", "/content/pending/0"), op("add", "/content/durable_facts/-", FACT)
    assert words(op("test", "/content/x"), taken, added, reason="confirmation") == [
        'confirmed: added to Durable facts: "Lives in Bern."'
    ]
    refused = words(op("remove", "/content/preferences/0"), reason="rejection")
    assert refused == ['rejected a proposal: removed from Preferences: "Be brief."']


def test_long_changes_are_shortened() -> None:
    many = words(*[op("add", "/content/preferences/-", "x" * 1000)] * 30)
    assert (len(many), many[-1]) == (MAX_WORDS + 1, "and 10 more")
    assert len(many[0]) < MAX_TEXT + 40
