"""The events of what leaves a document: searchable, complete, and the same whenever they are made."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.scope import DocumentKey, ETag
from memnet.domain.events.event import MAX_DIGEST, Event, load, place
from memnet.domain.upkeep.maintenance import Detail, MaintenancePlan
from memnet.domain.upkeep.maintenance_event import detail_events, entries_in
from tests.domain.samples import KEY, NOW, SCOPE, shipped_rules
from tests.domain.upkeep_samples import FACTS, NOTES, fact, rules

ETAG = ETag('"3-0123456789abcdef"')


def events(*details: Detail, key: DocumentKey = KEY, by: Any = None, etag: ETag = ETAG) -> list[Event]:
    plan = MaintenancePlan([], (), details, 0, {})
    return detail_events(
        plan, key, etag, by or rules(NOTES, FACTS), source_type="compaction", service_id="memnet-worker", timestamp=NOW
    )


def test_one_event_a_section_tells_its_entries() -> None:
    entry = fact("Works from Utrecht.", evidence={"conversation_id": "c1", "message_ids": ["m1"]})
    notes, facts = events(
        Detail("/notes", ("first note", {"text": "second"}, {"who": "x"}, "  ")), Detail("/facts", (entry,))
    )
    assert notes.digest == 'first note\nsecond\n{"who":"x"}\n"  "'
    assert (facts.digest, facts.source_type, facts.service_id, facts.timestamp) == (
        "Works from Utrecht.", "compaction", "memnet-worker", NOW
    )  # fmt: skip
    assert facts.evidence is not None
    assert facts.evidence.members() == {
        "namespace": "n", "path": "d.json", "etag": ETAG, "section": "/facts", "entries": [entry]
    }  # fmt: skip
    assert notes.event_id.startswith("memnet-compaction-")


def test_the_same_detail_of_the_same_version_is_the_same_event_and_any_other_is_another() -> None:
    detail = Detail("/notes", ("a",))
    made = [
        *events(detail),
        *events(detail, etag=ETag('"4-0123456789abcdef"')),
        *events(Detail("/notes", ("b",))),
        *events(Detail("/facts", ("a",))),
        *events(detail, key=DocumentKey(SCOPE, "n", "e.json")),
    ]
    assert len({event.event_id for event in made}) == len(made)
    assert events(detail) == events(detail)


def test_what_left_a_document_of_a_family_is_found_by_what_names_it() -> None:
    by = shipped_rules("project-copilot-v1", "project_doc")
    [event] = events(Detail("/recent_notes", ("a",)), key=DocumentKey(SCOPE, "projects", "alpha.json"), by=by)
    assert event.project_ids == ["alpha"]
    assert events(Detail("/notes", ("a",)))[0].project_ids == []


entries = st.one_of(
    st.text(alphabet="aé€😀\n ", max_size=50),
    st.sampled_from(
        ["x" * 5000, "é" * 5000, "😀" * 9000, "\\" * 9000, {"text": "y" * 3000, "evidence": {"a": "z" * 3000}}]
    ),
    st.dictionaries(st.sampled_from(["text", "who"]), st.text(alphabet="ab\x00", max_size=9)),
    st.integers(0, 3),
)


@settings(max_examples=200)
@given(st.lists(entries, min_size=1, max_size=12))
def test_entries_of_any_size_are_told_whole(told: Any) -> None:
    made = events(Detail("/notes", tuple(told)))
    assert len({event.event_id for event in made}) == len({(e.digest, canonical(e.evidence.members())) for e in made})
    read = [load(place(event, SCOPE).data) for event in made]
    assert all(stored is not None and len(stored.event.digest) <= MAX_DIGEST for stored in read)
    found = entries_in([stored.event for stored in read])
    assert {canonical(entry) for entry in found} == {canonical(entry) for entry in told}


def test_a_part_that_is_missing_tells_nothing() -> None:
    made = events(Detail("/notes", ("x" * 20_000,)))
    assert len(made) == 3
    assert entries_in(made) == ["x" * 20_000]
    assert entries_in(made[1:]) == []
    assert [event.evidence.members()["part"] for event in made] == [1, 2, 3]


@pytest.mark.parametrize("principal", ["w" * 300])
def test_a_principal_of_any_length_can_be_the_service(principal: Any) -> None:
    plan = MaintenancePlan([], (), (Detail("/notes", ("a",)),), 0, {})
    [event] = detail_events(plan, KEY, ETAG, rules(NOTES), source_type="freshness", service_id=principal, timestamp=NOW)
    assert event.service_id == "w" * 128
