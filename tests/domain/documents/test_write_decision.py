"""The whole pipeline of a decision: which refusal, what is left untouched, and what the record will say."""

import copy
from typing import Any

import pytest

from memnet.domain.core.canonical_json import MAX_DEPTH, canonical, sha256_hex
from memnet.domain.core.errors import (
    BindingMismatch,
    EntryExpired,
    EvidenceRequired,
    FieldDenied,
    LimitExceeded,
    MalformedRequest,
    MemnetError,
    PatchMalformed,
    PatchNotApplicable,
    PathNotWritable,
    SchemaViolation,
)
from memnet.domain.documents.commands import IfMatch
from memnet.domain.documents.write_decision import NO_CONTENT_HASH, decide_deletion, decide_patch, decide_replacement
from tests.domain.samples import (
    EVIDENCE,
    LENIENT,
    NOW,
    History,
    delete_command,
    draft,
    op,
    patch_command,
    replace_command,
    shipped_command,
    shipped_rules,
    small_rules,
    version_with,
)

COPILOT = "project-copilot-v1"


def refused(error: type[MemnetError], rules: Any, *ops: Any, on: Any = None, **members: Any) -> dict[str, Any]:
    """The details of the refusal."""
    with pytest.raises(error) as refusal:
        draft(rules, patch_command(*ops, **members), on)
    assert refusal.type is error
    return refusal.value.details


# Form and number of operations.


def test_a_patch_needs_operations() -> None:
    assert refused(LimitExceeded, LENIENT) == {"limit": "min_ops", "allowed": 1, "found": 0}
    with pytest.raises(PatchMalformed):
        draft(LENIENT, patch_command(ops={"op": "add"}))


def test_a_patch_has_at_most_as_many_operations_as_the_profile_says() -> None:
    rules = small_rules(max_ops=3)
    ops = [op("add", f"/content/{n}", value=n) for n in range(4)]
    assert len(draft(rules, patch_command(*ops[:3])).content) == 3
    assert refused(LimitExceeded, rules, *ops) == {"limit": "max_ops", "allowed": 3, "found": 4}


def test_a_patch_cannot_take_the_content_away() -> None:
    rules = LENIENT
    for ops in [
        [op("remove", "/content")],
        [op("move", "/content/a", from_="/content")],
        [op("add", "/content/a", value={}), op("remove", "/content")],
    ]:
        with pytest.raises((PathNotWritable, PatchMalformed)):
            draft(rules, patch_command(*ops), {"b": 1})
    # Taken away and given back in one patch is a replacement.
    made = draft(rules, patch_command(op("remove", "/content"), op("add", "/content", value={"a": 1})), {"b": 1})
    assert made.content == {"a": 1}


def test_a_read_only_binding_refuses_patches_and_accepts_replacements() -> None:
    rules = shipped_rules("support-desk-v1", "entitlements")
    command = shipped_command("support-desk-v1", "entitlements", op("add", "/content/plan", value="x"))
    with pytest.raises(PathNotWritable) as refusal:
        draft(rules, command)
    assert refusal.value.details["binding_id"] == "entitlements"
    open_rules = small_rules(binding={"write_mode": "read_only"})
    assert decide_replacement(replace_command({"a": 1}), open_rules, None).content == {"a": 1}


# Creation.


def test_creation_starts_from_the_binding_s_initial_content_and_leaves_it_alone() -> None:
    rules = shipped_rules(COPILOT, "user_dynamic")
    initial = rules.binding.initial_content
    before = copy.deepcopy(initial)
    command = shipped_command(COPILOT, "user_dynamic", op("add", "/content/preferences/-", value="Short answers."))
    for _ in range(2):
        made = draft(rules, command)
        assert made.content["preferences"] == ["Short answers."]
        made.content["preferences"].append("mine")
        assert initial == before
    assert made.hash_before == NO_CONTENT_HASH
    assert made.ops == [op("add", "/content", value=before), *command.ops]


def test_creation_over_a_deleted_document_starts_from_the_initial_content() -> None:
    history = History(small_rules(binding={"initial_content": {"log": []}}))
    history.patch(op("add", "/content/log/-", value="first life"))
    history.delete()
    head = history.patch(op("add", "/content/log/-", value="second life"))
    assert head.content == {"log": ["second life"]}
    assert history.records[-1]["ops"][0] == op("add", "/content", value={"log": []})


# The checks that a patch passes, each with tests of its own.


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        (op("add", "/content/facts/-", value={"text": "My card is 4111 1111 1111 1111."}), FieldDenied),
        (op("add", "/content/facts/-", value={"text": "a", "until": "2026-02-01T00:00:00Z"}), EntryExpired),
        (op("replace", "/content/facts/0/text", value="another text"), EvidenceRequired),
    ],
)
def test_the_content_of_a_patch_is_checked(operation: Any, error: type[MemnetError]) -> None:
    rules = small_rules(
        durable_sections={"b": ["/facts"]},
        upkeep_rules={"b": [{"section": "/facts", "expires_field": "until"}]},
    )
    content = {"facts": [{"text": "a text", "evidence": EVIDENCE}]}
    refused(error, rules, operation, on=content, confidence=1.0, evidence=EVIDENCE)


# Schema and binding.


def test_all_violations_are_reported_with_pointers_and_without_values() -> None:
    rules = shipped_rules(COPILOT, "user_dynamic")
    ops = [
        op("add", "/content/preferences/-", value=12345),
        op("add", "/content/preferences/-", value=""),
        op("add", "/content/durable_facts/-", value={"id": "secret-id"}),
    ]
    with pytest.raises(SchemaViolation) as refusal:
        draft(rules, shipped_command(COPILOT, "user_dynamic", *ops))
    details = refusal.value.details
    assert details["violation_count"] == 6
    assert {row["pointer"] for row in details["violations"]} == {
        "/content/preferences/0",
        "/content/preferences/1",
        "/content/durable_facts/0",
    }
    assert "12345" not in repr(details)
    assert "secret-id" not in repr(details)


def test_a_document_of_another_schema_or_version_must_be_migrated_first() -> None:
    rules = shipped_rules(COPILOT, "user_dynamic")
    head = version_with(LENIENT, {"preferences": [], "durable_facts": [], "pending_confirmations": []})
    command = shipped_command(COPILOT, "user_dynamic", op("add", "/content/preferences/-", value="x"))
    with pytest.raises(BindingMismatch) as refusal:
        decide_patch(command, rules, head, proposed_at=NOW, proposal_id="p")
    assert refusal.value.details == {"schema_id": "any", "schema_version": "1.0.0"}


def test_a_replacement_has_the_binding_s_schema_and_version() -> None:
    for wrong in [{"schema_id": "other"}, {"schema_version": "2.0.0"}]:
        with pytest.raises(BindingMismatch):
            decide_replacement(replace_command({}, **wrong), LENIENT, None)


# Limits.


def test_max_chars_counts_characters_of_the_canonical_content_not_bytes() -> None:
    rules = small_rules(binding={"max_chars": 20})
    for text in ["x" * 12, "\u00e9" * 12, "\U0001f600" * 12]:
        assert draft(rules, patch_command(op("add", "/content/a", value=text))).content == {"a": text}
        details = refused(LimitExceeded, rules, op("add", "/content/a", value=text + text[0]))
        assert details == {"limit": "max_chars", "allowed": 20, "found": 21}
    # An escaped character counts as it is written.
    assert refused(LimitExceeded, rules, op("add", "/content/a", value="\n" * 7))["found"] == 22


def test_values_that_are_together_too_long_are_refused_before_they_are_applied() -> None:
    rules = small_rules(binding={"max_chars": 20})
    # Applied, the second operation would fail: there is no such place.
    ops = [op("add", "/content/a", value="x" * 9), op("add", "/content/no/such", value="y" * 8)]
    with pytest.raises(LimitExceeded) as refusal:
        draft(rules, patch_command(*ops))
    assert refusal.value.details == {"limit": "max_chars", "allowed": 20, "found": 21}
    with pytest.raises(PatchNotApplicable):
        draft(rules, patch_command(ops[0], op("add", "/content/no/such", value="y" * 7)))
    # A test adds nothing.
    tested = op("test", "/content/a", value="x" * 9)
    assert draft(rules, patch_command(ops[0], tested, tested)).content == {"a": "x" * 9}


def test_content_over_a_limit_may_only_shrink() -> None:
    rules = small_rules(binding={"max_chars": 20}, compaction_rules={"b": {"max_q": 2}})
    long = {"a": "x" * 40, "b": "y"}
    assert draft(rules, patch_command(op("replace", "/content/a", value="x" * 39)), long)
    for value in ["x" * 40, "x" * 41]:
        refused(LimitExceeded, rules, op("replace", "/content/a", value=value), on=long)
    many = {"q": [1, 2, 3, 4]}
    assert draft(rules, patch_command(op("remove", "/content/q/0")), many).content == {"q": [2, 3, 4]}
    beside, by_number = {**many, "a": "x"}, small_rules(compaction_rules={"b": {"max_q": 2}})
    assert draft(by_number, patch_command(op("replace", "/content/a", value="y")), beside).content == {**many, "a": "y"}
    details = refused(LimitExceeded, rules, op("replace", "/content/q/0", value=9), on=many)
    assert details == {"limit": "max_q", "allowed": 2, "found": 4, "path": "/content/q"}


def test_array_limits_hold_exactly() -> None:
    rules = small_rules(compaction_rules={"b": {"max_q": 2, "max_other": 1}})
    add = op("add", "/content/q/-", value=1)
    assert draft(rules, patch_command(add), {"q": [1]}).content == {"q": [1, 1]}
    assert refused(LimitExceeded, rules, add, on={"q": [1, 1]})["limit"] == "max_q"
    # What is no array, or is not there, has no length.
    assert draft(rules, patch_command(op("add", "/content/q", value="a long text")), {}).content == {"q": "a long text"}


def test_a_replacement_obeys_schema_limits_and_denylist() -> None:
    rules = small_rules(
        binding={"max_chars": 30},
        compaction_rules={"b": {"max_q": 1}},
        denied_fields=["password"],
        schema={"properties": {"n": {"type": "integer"}}},
    )
    for content, error in [
        ({"a": "x" * 30}, LimitExceeded),
        ({"q": [1, 2]}, LimitExceeded),
        ({"x": [{"password": 1}]}, FieldDenied),
        ({"n": "1"}, SchemaViolation),
        ([], SchemaViolation),
        (None, SchemaViolation),
    ]:
        with pytest.raises(error) as refusal:
            decide_replacement(replace_command(content), rules, None)
        assert refusal.type is error


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_a_content_nests_as_deep_as_its_history_can_be_read_back() -> None:
    """The operations see the content one level down, so it may be one level less deep than the limit."""
    deepest = {"a": nested(MAX_DEPTH - 2)}
    history = History()
    history.write(replace_command(deepest))
    assert history.head.content == deepest
    with pytest.raises(MalformedRequest):
        decide_replacement(replace_command({"a": nested(MAX_DEPTH - 1)}), LENIENT, None)
    refused(LimitExceeded, LENIENT, op("add", "/content/a", value=nested(MAX_DEPTH - 1)))
    assert draft(LENIENT, patch_command(op("add", "/content/a", value=nested(MAX_DEPTH - 2)))).content == deepest


def test_a_huge_request_is_refused_by_its_size_before_the_schema_is_asked() -> None:
    """The schema would refuse each of these, too, but takes twenty seconds to complain of a million wrong items."""
    rules = shipped_rules(COPILOT, "user_dynamic")
    for value in [[0] * 300_000, [{}] * 200_000, ["x" * 900_000]]:
        command = shipped_command(COPILOT, "user_dynamic", op("add", "/content/preferences", value=value))
        with pytest.raises(LimitExceeded):
            draft(rules, command)


def test_a_failing_operation_leaves_everything_unchanged() -> None:
    content = {"a": [1], "b": {"c": 2}}
    head = version_with(LENIENT, content)
    command = patch_command(
        op("add", "/content/a/-", value=2), op("remove", "/content/b/c"), op("remove", "/content/x")
    )
    ops = copy.deepcopy(command.ops)
    with pytest.raises(PatchNotApplicable) as refusal:
        decide_patch(command, LENIENT, head, proposed_at=NOW, proposal_id="p")
    assert refusal.value.details == {"op_index": 2, "path": "/content/x"}
    assert head.content == content
    assert command.ops == ops


# What the record is made of.


def test_a_deletion_says_what_was_deleted_by_its_hash_alone() -> None:
    head = version_with(LENIENT, {"a": 2})
    made = decide_deletion(delete_command(IfMatch(head.commit.etag), note="asked by the user"), head)
    assert made.deleted
    assert made.content is None
    assert made.ops == [op("remove", "/content")]
    assert (made.hash_before, made.hash_after) == (sha256_hex(canonical({"a": 2})), NO_CONTENT_HASH)
    assert made.note == "asked by the user"
