"""The console's words for retractions, the source that an evidence names, and what a person may do in each state."""

import json
from typing import Any

import pytest

from memnet.domain.governance.retraction import ValueFate, Why
from memnet.domain.governance.source import SourceKind
from memnet.domain.governance.withdrawn import Fate
from tests.console.node import results

HASH = "0" * 64
CONVERSATION = {"kind": "conversation", "conversation_id": "c1"}
PLANNED = {"status": "planned", "undone_by": None, "needs_another": False, "planned_by": "anna"}
APPLIED = {**PLANNED, "status": "applied"}
FAILED = {**PLANNED, "status": "failed"}
NOTHING = {"apply": False, "needsAnother": False, "undo": False}
CALLS: list[tuple[list[Any], Any]] = [
    (["sourceWords", CONVERSATION], "conversation c1"),
    (["sourceWords", {**CONVERSATION, "message_ids": ["m1"]}], "conversation c1, message m1"),
    (["sourceWords", {**CONVERSATION, "message_ids": ["m1", "m2"]}], "conversation c1, messages m1 and m2"),
    (["sourceWords", {**CONVERSATION, "kind": "snapshot", "snapshot_id": "s1"}], "snapshot s1 of conversation c1"),
    (["sourceWords", {"kind": "replay", "replay_id": "r"}], "replay r"),
    (["sourceWords", {"kind": "event", "event_id": "e"}], "event e"),
    (["sourceWords", {"kind": "actor", "actor": "a"}], "principal a"),
    (["sourceWords", {"kind": "actor", "actor": "a", "since": "x", "until": "y"}], "principal a from x until y"),
    (["sourceWords", {"kind": "model", "model": "m", "prompt_sha256": HASH}], f"model m, prompt {HASH}"),
    (
        ["countWords", {"removed": 2, "put_back": 0, "stripped": 1, "items": 1}],
        "2 removed, 1 evidence withdrawn, 1 item",
    ),
    (["countWords", {"removed": 1, "reopened": 2}], "1 removed, 2 reopened"),
    (["countWords", {"removed": 0, "items": 0}], "nothing"),
    (["sourceOf", {"conversation_id": "c1", "message_ids": ["m1", 7]}], {**CONVERSATION, "message_ids": ["m1"]}),
    (["sourceOf", {"conversation_id": "c1", "message_ids": []}], CONVERSATION),
    (["sourceOf", {"event_id": "e"}], {"kind": "event", "event_id": "e"}),
    (["sourceOf", {"conversation_id": 7}], None),
    (["sourceOf", None], None),
    (["choices", PLANNED, "anna"], {"apply": True, "needsAnother": False, "undo": True}),
    (["choices", {**PLANNED, "needs_another": True}, "anna"], {"apply": True, "needsAnother": True, "undo": True}),
    (["choices", {**PLANNED, "needs_another": True}, "ben"], {"apply": True, "needsAnother": False, "undo": True}),
    (["choices", APPLIED, "anna"], {**NOTHING, "undo": True}),
    (["choices", {**PLANNED, "status": "partial"}, "anna"], {**NOTHING, "undo": True}),
    (["choices", FAILED, "anna"], {**NOTHING, "apply": True, "undo": True}),
    # A failed undo is continued by an undo.
    (["choices", {**FAILED, "undone_by": "anna"}, "anna"], {**NOTHING, "undo": True}),
    (["choices", {**PLANNED, "status": "applying"}, "anna"], NOTHING),
    (["choices", {**PLANNED, "status": "undone", "undone_by": "anna"}, "anna"], NOTHING),
    (["isThere", False], True),
    (["isThere", None], False),
]


@pytest.fixture(scope="module")
def returned() -> list[Any]:
    return results(*(call for call, _ in CALLS))


@pytest.mark.parametrize("index", range(len(CALLS)), ids=[json.dumps(call)[:60] for call, _ in CALLS])
def test_a_function_returns_its_words(returned: list[Any], index: int) -> None:
    assert returned[index] == CALLS[index][1]


def test_every_kind_fate_and_reason_of_the_service_has_words() -> None:
    whys, fates = [one.value for one in Why], [one.value for one in Fate]
    said = results(*(["whyStays", one] for one in whys), *(["itemFate", one] for one in fates))
    assert [text for text, name in zip(said, [*whys, *fates], strict=True) if text == name] == []
    counts = results(*(["countWords", {one.value: 3}] for one in ValueFate))
    assert "nothing" not in counts
    kinds = results(*(["sourceWords", {"kind": one.value}] for one in SourceKind))
    assert [text for text, kind in zip(kinds, SourceKind, strict=True) if text == kind.value] == []
