"""What fits into a context: the most important first, and an account of the rest."""

from typing import Any

import pytest

from memnet.domain.catalog.profile import Binding, Profile
from memnet.domain.context.context import Candidate, ContextDocument, by_priority, not_routed, pack, routed_variable
from memnet.domain.core.scope import ETag
from tests.domain.samples import CATALOG, SCOPE


def binding(name: str, priority: int = 1) -> Binding:
    return Binding(
        binding_id=name, namespace="n", path=f"{name}.json", schema_id="s", schema_version="1", max_chars=99,
        read_priority=priority,
    )  # fmt: skip


def candidate(name: str, content: Any = None) -> Candidate:
    """A document whose content is this; none if it is None."""
    made = binding(name)
    key = made.resolve(SCOPE)
    found = None if content is None else ContextDocument(name, "n", key.path, ETag('"1"'), b"{}")
    return Candidate(made, key, found, content)


TEN = "x" * 8
"""Ten characters of JSON."""


@pytest.mark.parametrize(
    ("max_docs", "max_chars", "kept", "dropped"),
    [
        (None, None, "abc", {}),
        (3, 30, "abc", {}),
        (2, None, "ab", {"c": "max_docs"}),
        (1, None, "a", {"b": "max_docs", "c": "max_docs"}),
        (0, None, "", {"a": "max_docs", "b": "max_docs", "c": "max_docs"}),
        (None, 29, "ab", {"c": "max_chars_total"}),
        (None, 20, "ab", {"c": "max_chars_total"}),
        (None, 19, "a", {"c": "max_chars_total", "b": "max_chars_total"}),
        (None, 9, "", {"c": "max_chars_total", "b": "max_chars_total", "a": "max_chars_total"}),
        (2, 19, "a", {"c": "max_docs", "b": "max_chars_total"}),
    ],
)
def test_the_lowest_priority_goes_first(max_docs: Any, max_chars: Any, kept: Any, dropped: Any) -> None:
    documents, rows = pack([candidate(name, TEN) for name in "abc"], max_docs=max_docs, max_chars_total=max_chars)
    assert "".join(document.binding_id for document in documents) == kept
    assert {row["binding_id"]: row["reason"] for row in rows} == dropped


def test_what_does_not_exist_takes_no_place() -> None:
    documents, rows = pack([candidate("a"), candidate("b", TEN), candidate("c", TEN)], max_docs=2, max_chars_total=20)
    assert [document.binding_id for document in documents] == ["b", "c"]
    assert rows == [{"binding_id": "a", "namespace": "n", "path": "a.json", "reason": "document_not_found"}]


def test_a_row_of_a_document_that_exists_has_its_size_in_characters() -> None:
    _, rows = pack([candidate("a", "\u00e9\U0001f600")], max_docs=None, max_chars_total=3)
    assert rows == [{"binding_id": "a", "namespace": "n", "path": "a.json", "reason": "max_chars_total", "size": 4}]


def test_nothing_to_pack() -> None:
    assert pack([], max_docs=0, max_chars_total=0) == ([], [])


def test_priority_is_the_profile_s_number_then_its_order() -> None:
    bindings = (binding("a", 20), binding("b", 10), binding("c", 20), binding("d", -5))
    profile = Profile(profile_id="p", document_bindings=bindings)
    assert [b.binding_id for b in by_priority(profile)] == ["d", "b", "a", "c"]


def test_the_variable_that_routing_fills() -> None:
    assert routed_variable(CATALOG.profile("project-copilot-v1")) == "project_id"
    assert routed_variable(CATALOG.profile("support-desk-v1")) == "ticket_id"
    assert routed_variable(Profile(profile_id="p", document_bindings=(binding("a"),))) is None


def test_an_unrouted_binding_has_no_path_to_tell() -> None:
    assert not_routed(binding("a")) == {"binding_id": "a", "namespace": "n", "reason": "not_routed"}
