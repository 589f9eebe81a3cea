"""A profile as an object: strict when read, and the questions it answers."""

import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from memnet.domain.catalog.profile import Binding, Profile
from memnet.domain.catalog.profile_check import overlap
from memnet.domain.core.errors import InvalidIdentifier
from memnet.domain.core.scope import DocumentKey, UserScope

SCOPE = UserScope("t1", "u1")
RULES: dict[str, Any] = {
    "namespace": "n", "schema_id": "s", "schema_version": "1", "max_chars": 10, "read_priority": 1,
}  # fmt: skip


def fixed(path: str, **members: Any) -> Binding:
    return Binding.model_validate({"binding_id": "b", **RULES, "path": path, **members})


def template(path: str, **members: Any) -> Binding:
    return Binding.model_validate({"binding_id": "b", **RULES, "path_template": path, **members})


def profile(**members: Any) -> Profile:
    text = json.dumps({"profile_id": "p", "document_bindings": [{"binding_id": "b", **RULES, "path": "x"}], **members})
    return Profile.model_validate_json(text)


def test_what_is_left_out_is_the_strictest_choice() -> None:
    sparse = profile()

    assert not any((sparse.writable_path_rules, sparse.durable_sections, sparse.pending_sections))
    assert sparse.denied_fields == ()
    assert sparse.routing is None
    assert sparse.array_limits("b") == {}


@pytest.mark.parametrize(
    "members",
    [
        {"profile_id": "a/b"},
        {"document_bindings": []},
        {"max_ops": 0},
        {"confidence_rules": {"min_confidence_for_durable_fact": 1.1}},
        {"confidence_rules": {"min_confidence": 0.5}},
        {"retention_rules": {"events_days": 0}},
        {"compaction_rules": {"b": {"max_x": -1}}},
        {"durable_sections": {"b": "/x"}},
        {"writable_path_rules": {"b": ["/~2"]}},
        {"allowed_principals": "svc-a"},
        {"unknown": 1},
    ],
)
def test_a_malformed_profile_is_refused(members: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        profile(**members)


def test_denied_fields_are_names_or_pointers() -> None:
    denied = ("password", "a b", "x\ny", "~", "/a/*/b", "/", "/a~1b")

    assert profile(denied_fields=denied).denied_fields == denied


def test_everyone_is_admitted_unless_principals_are_listed() -> None:
    assert profile().admits("anyone")
    assert profile(allowed_principals=["svc-a"]).admits("svc-a")
    assert not profile(allowed_principals=["svc-a"]).admits("svc-b")
    assert not profile(allowed_principals=[]).admits("svc-a")


def test_a_template_is_filled_and_recognised() -> None:
    ticket = template("tickets/{ticket_id}.json")

    assert ticket.variable() == "ticket_id"
    assert fixed("x").variable() is None
    assert fixed("x").resolve(SCOPE) == DocumentKey(SCOPE, "n", "x")
    key = ticket.resolve(SCOPE, "T-1.json")
    assert key.path == "tickets/T-1.json.json"
    assert ticket.covers(key)
    assert not fixed("x").covers(key)


@pytest.mark.parametrize("value", [None, "", "../x", "a/b", ".x", "x" * 129, "{x}"])
def test_no_value_leads_out_of_the_template(value: str | None) -> None:
    with pytest.raises(InvalidIdentifier):
        template("{id}").resolve(SCOPE, value)


@pytest.mark.parametrize(
    ("path", "namespace"),
    [
        ("tickets/a/b.json", "n"),
        ("tickets/a", "n"),
        ("a.json", "n"),
        ("tickets/a.json", "m"),
        ("tickets/a.json.x", "n"),
    ],
)
def test_a_template_covers_only_its_family(path: str, namespace: str) -> None:
    assert not template("tickets/{id}.json").covers(DocumentKey(SCOPE, namespace, path))


def test_a_short_path_cannot_satisfy_both_ends_of_a_template_at_once() -> None:
    assert not template("aa{id}aa").covers(DocumentKey(SCOPE, "n", "aaa"))


LETTERS = st.text("ab.", max_size=2)
VALUES = ["".join(letters) for size in range(1, 6) for letters in product("abx.", repeat=size) if letters[0] != "."]


@st.composite
def bindings(draw: st.DrawFn) -> Binding:
    before, after = draw(LETTERS), draw(LETTERS)
    head = draw(st.sampled_from(["", "a/", "b/"]))
    if draw(st.booleans()):
        return template(f"{head}{before}{{id}}{after}")
    return fixed(head + "a" + before)


def documents(binding: Binding) -> Iterator[DocumentKey]:
    for value in VALUES if binding.path_template else [None]:
        with suppress(InvalidIdentifier):
            yield binding.resolve(SCOPE, value)


@settings(max_examples=50)
@given(bindings(), bindings())
def test_two_bindings_overlap_if_and_only_if_some_document_is_of_both(a: Binding, b: Binding) -> None:
    assert overlap(a, b) == overlap(b, a) == any(b.covers(key) for key in documents(a))
