"""What fits into a context: documents by priority, then events."""

from typing import Any

import orjson
import pytest

from memnet.domain.catalog.profile import Binding, Profile
from memnet.domain.context.context import (
    Candidate,
    ContextDocument,
    ContextEvents,
    IncludeEvents,
    by_priority,
    cite,
    not_routed,
    pack,
    pack_events,
    routed_variable,
)
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.scope import DocumentKey, ETag
from memnet.domain.events.event_search import FoundEvent
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


BINDING = Binding(
    binding_id="b", namespace="n", path="p", schema_id="s", schema_version="1", max_chars=99, read_priority=1
)


def found(event_id: str, digest: str = "ä" * 100, score: float = 1.0, **members: Any) -> FoundEvent:
    event = {"event_id": event_id, "tenant_id": "t1", "user_id": "u1", "timestamp": "T", "digest": digest}
    return FoundEvent(canonical({**event, **members}), score)


def document(size: int) -> Candidate:
    """A document whose content has so many characters."""
    content = {"a": "x" * (size - 8)}
    key = DocumentKey(SCOPE, "n", "p")
    return Candidate(BINDING, key, ContextDocument("b", "n", "p", ETag('"1"'), b"{}"), content)


def ids(events: ContextEvents) -> list[str]:
    return [orjson.loads(text)["event_id"] for text in events.cited]


SIZE = len(cite(found("e1")).decode())


def test_a_citation_leads_to_the_source_and_repeats_no_owner() -> None:
    evidence = {"message_ids": ["m1"], "span": {"start": 1, "end": 2}}
    words = {"keywords": ["k"], "entities": ["E"], "project_ids": ["p"]}
    event = found("e1", "Said so.", 0.25, snapshot_uri="blob://s", evidence=evidence, **words)
    assert orjson.loads(cite(event)) == {
        "event_id": "e1",
        "timestamp": "T",
        "digest": "Said so.",
        **words,
        "snapshot_uri": "blob://s",
        "evidence": evidence,
        "untrusted_quotation": True,
        "score": 0.25,
    }


@pytest.mark.parametrize(
    ("members", "quotes"),
    [
        ({"snapshot_uri": "blob://s"}, True),
        ({"evidence": {"conversation_id": "c1"}}, True),
        ({"evidence": {"message_ids": ["m1"]}}, True),
        ({"evidence": {"namespace": "user"}}, False),
        ({"source_type": "compaction"}, False),
    ],
)
def test_what_was_written_from_a_conversation_is_an_untrusted_quotation(members: dict[str, Any], quotes: bool) -> None:
    assert orjson.loads(cite(found("e1", **members)))["untrusted_quotation"] is quotes


@pytest.mark.parametrize(("spare", "fits"), [(SIZE - 1, []), (SIZE, ["e1"]), (2 * SIZE, ["e1", "e2"])])
def test_documents_come_first_and_events_share_what_is_left(spare: int, fits: list[str]) -> None:
    events = [found("e1"), found("e2")]
    packed = pack_events(
        events, IncludeEvents(top_k=9), documents=[document(50), document(30)], max_chars_total=80 + spare
    )
    assert ids(packed) == fits
    assert packed.dropped == [
        {"event_id": name, "reason": "max_chars_total", "size": SIZE} for name in ("e1", "e2") if name not in fits
    ]


def test_the_tighter_limit_of_the_events_is_the_reason() -> None:
    wish = IncludeEvents(top_k=9, max_chars=SIZE)
    packed = pack_events([found("e1"), found("e2")], wish, documents=[], max_chars_total=SIZE * 2)
    assert ids(packed) == ["e1"]
    assert packed.dropped == [{"event_id": "e2", "reason": "max_chars", "size": SIZE}]


def test_a_shorter_event_fits_after_one_that_does_not() -> None:
    events = [found("e1"), found("long", "x" * 500), found("e2")]
    packed = pack_events(events, IncludeEvents(top_k=9, max_chars=2 * SIZE), documents=[], max_chars_total=None)
    assert ids(packed) == ["e1", "e2"]
    assert [row["event_id"] for row in packed.dropped] == ["long"]
