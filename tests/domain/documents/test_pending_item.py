"""What a pending item keeps of its document, and what a patch that takes one out may write."""

import copy
from typing import Any

import pytest

from memnet.domain.core.errors import PendingTargetChanged, ProposerCannotConfirm
from memnet.domain.core.json_patch import apply, parse_patch
from memnet.domain.documents.pending_item import PROVENANCE, carry, narrow, pending_item, written
from memnet.domain.documents.rebase import RebaseConflict, Rebased
from tests.domain.samples import ALICE, BOB, EVIDENCE, NOW, draft, op, patch_command, small_rules

RULES = small_rules(
    durable_sections={"b": ["/facts"]},
    pending_sections={"b": "/waiting"},
    confidence_rules={"min_confidence_for_durable_fact": 0.8},
)
FACTS = [{"id": name, "text": name, "owner_id": "x"} for name in "abcde"]
OWNED = [{"text": name, "owner_id": "x"} for name in "ab"]
DEEP = {"list": [{"tags": ["s", "t"]}, "u"], "other": 1}
CONTENT: dict[str, Any] = {
    "facts": FACTS,
    "owned": OWNED,
    "deep": {"list": [{"tags": ["s", "t"]}, "u"], "other": 1},
    "waiting": [],
}


@pytest.mark.parametrize(
    ("operation", "target", "base"),
    [
        (op("replace", "/content/deep/other", value=2), None, {"deep": {"other": 1}}),
        (op("add", "/content/deep/list/-", value="v"), None, {"deep": {"list": []}}),
        (op("add", "/content/deep/list/2", value="v"), {"path": "/content/deep/list/-"}, {"deep": {"list": []}}),
        (op("remove", "/content/deep/list/1"), {"path": "/content/deep/list/0"}, {"deep": {"list": ["u"]}}),
        (op("add", "/content/deep/list/0/tags/1", value="v"), None, {"deep": {"list": [{"tags": ["s", "t"]}]}}),
        (
            op("copy", "/content/deep/list/-", from_="/content/deep/other"),
            {"op": "add", "path": "/content/deep/list/-", "value": 1, "from": None},
            {"deep": {"list": []}},
        ),
        (
            op("replace", "/content/facts/3/text", value="D"),
            {"path": "/content/facts/0/text"},
            {"facts": [FACTS[3]]},
        ),
        (op("remove", "/content/owned/1/text"), None, {"owned": OWNED}),
        (op("replace", "/content/deep", value={}), None, {"deep": CONTENT["deep"]}),
        (op("replace", "/content", value={}), None, CONTENT),
    ],
)
def test_an_operation_keeps_of_the_content_what_it_needs(operation: Any, target: Any, base: Any) -> None:
    made, kept = narrow(operation, copy.deepcopy(CONTENT))
    expected = operation | (target or {})
    assert (made, kept) == ({name: value for name, value in expected.items() if value is not None}, base)
    assert carry({"target": made, "base": kept}, CONTENT, ()) == Rebased(carried(operation), ())


def carried(operation: dict[str, Any]) -> list[dict[str, Any]]:
    """The operation itself, with a copy as the addition it makes, and the end of a list as such."""
    if operation["op"] == "copy":
        return [op("add", operation["path"], value=1)]
    return [operation | {"path": operation["path"].replace("list/2", "list/-")}]


def test_an_insertion_finds_its_neighbours() -> None:
    names = list("abcd")
    made, base = narrow(op("add", "/content/l/2", value="x"), {"l": names})
    assert (made["path"], base) == ("/content/l/1", {"l": ["b", "c"]})
    found = carry({"target": made, "base": base}, {"l": ["z", "a", "b", "c", "d"]}, ())
    assert found == Rebased([op("add", "/content/l/3", value="x")], ())


def test_the_item_does_not_share_what_it_was_made_of() -> None:
    content = copy.deepcopy(CONTENT)
    item = pending_item(
        op("remove", "/content/facts/0"),
        content,
        "a",
        pending_id="w1",
        profile_id="p",
        binding_id="b",
        confidence=0.1,
        evidence={**EVIDENCE, PROVENANCE: {"model": "m"}},
        proposed_at=NOW,
        proposed_by=ALICE.principal,
        on_behalf_of=None,
        proposed_on=None,
    )
    content["facts"][0]["text"] = "changed"
    assert item["base"]["facts"][0]["text"] == "a"
    assert item["evidence"] == EVIDENCE


@pytest.mark.parametrize(
    ("operation", "places"),
    [
        (op("move", "/content/a", from_="/content/b"), [("a",), ("b",)]),
        (op("copy", "/content/a", from_="/content/b"), [("a",)]),
        (op("test", "/content/a", value=1), []),
    ],
)
def test_the_places_that_an_operation_changes(operation: Any, places: Any) -> None:
    assert [written(one) for one in parse_patch([operation])] == [places]


def test_an_entry_with_a_duplicate_is_ambiguous_even_if_nothing_changed() -> None:
    made, base = narrow(op("remove", "/content/l/1"), {"l": ["a", "a"]})
    found = carry({"target": made, "base": base}, {"l": ["a", "a"]}, ())
    assert isinstance(found, RebaseConflict)
    made, base = narrow(op("move", "/content/m/-", from_="/content/l/0"), {"l": ["a", "a"], "m": []})
    assert isinstance(carry({"target": made, "base": base}, {"l": ["a", "a"], "m": []}, ()), RebaseConflict)


@pytest.mark.parametrize(
    "target",
    [
        op("replace", "/content/l/-", value=1),
        op("remove", "/content/l/5/x"),
        op("move", "/content/m", from_="/content/l/-"),
    ],
)
def test_an_item_whose_path_is_not_in_its_base_cannot_be_carried(target: Any) -> None:
    content = {"l": ["a"], "m": 1}
    assert isinstance(carry({"target": target, "base": content}, content, ()), RebaseConflict)


# A patch that takes items out and writes.

HELD = [
    {"op": "replace", "path": "/content/facts/1/text", "value": "B"},
    {"op": "add", "path": "/content/facts/-", "value": {"id": "f", "text": "f"}},
]
DROP_BOTH = [op("remove", "/content/waiting/1"), op("remove", "/content/waiting/0")]
SURE: dict[str, Any] = {"confidence": 0.9, "evidence": EVIDENCE}


def waiting() -> dict[str, Any]:
    """Two proposals of Alice's, and since then the first fact is gone."""
    made = draft(RULES, patch_command(*HELD, confidence=0.1), copy.deepcopy(CONTENT))
    assert len(made.redirected) == 2
    moved: dict[str, Any] = apply({"content": made.content}, [op("remove", "/content/facts/0")])["content"]
    return moved


def decide(*ops: Any, actor: Any = BOB) -> Any:
    return draft(RULES, patch_command(*ops, actor=actor, **SURE), waiting()).content


def test_a_confirming_patch_writes_the_rebased_proposals() -> None:
    made = decide(*DROP_BOTH, op("replace", "/content/facts/0/text", value="B!"), HELD[1])
    assert [one["text"] for one in made["facts"]] == ["B!", "c", "d", "e", "f"]
    one = decide(op("add", "/content/facts/-", value="else"), op("remove", "/content/waiting/1"))
    assert (one["facts"][-1], len(one["waiting"])) == ("else", 1)


@pytest.mark.parametrize(
    "ops",
    [
        [*DROP_BOTH, HELD[0]],
        [*DROP_BOTH, HELD[1], HELD[1]],
        [op("remove", "/content/waiting/0"), HELD[1]],
        [*DROP_BOTH, op("remove", "/content/facts/0")],
        [*DROP_BOTH, op("move", "/content/facts/-", from_="/content/facts/0")],
        [op("remove", "/content/facts/0/text"), op("remove", "/content/waiting/0")],
    ],
)
def test_a_confirming_patch_writes_nothing_else(ops: Any) -> None:
    with pytest.raises(PendingTargetChanged):
        decide(*ops)
    with pytest.raises(ProposerCannotConfirm):
        decide(*ops, actor=ALICE)


def test_a_confirming_patch_is_refused_if_the_entry_has_changed() -> None:
    changed = op("replace", "/content/facts/0/text", value="other")
    content = apply({"content": waiting()}, [changed])["content"]
    command = patch_command(DROP_BOTH[1], op("replace", "/content/facts/0/text", value="B"), actor=BOB, **SURE)
    with pytest.raises(PendingTargetChanged) as refused:
        draft(RULES, command, content)
    assert refused.value.details["why"] == "changed"
