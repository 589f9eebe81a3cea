"""What is merged, what gives way and in which order; and over any content: nothing durable lost, done in one go."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memnet.domain.catalog.catalog import ProtectedSections, WriteRules
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.evidence import MAX_EVIDENCE_BYTES
from memnet.domain.core.scope import Json
from memnet.domain.documents.entry import confidence_of, entry_identity
from memnet.domain.upkeep.compaction import plan_compaction
from memnet.domain.upkeep.maintenance import EntryAction, MaintenancePlan, find_lost
from tests.domain.upkeep_samples import FACTS, LIKES, NOTES, NOW, ago, applied, around, fact, proposal, rules


def compact(content: Json, *sections: dict[str, Any], by: WriteRules | None = None, **members: Any) -> MaintenancePlan:
    """Plan, and hold what every plan holds: its operations give what it says, and nothing is left to do."""
    governance = by or rules(*sections, **members)
    before = canonical(content)
    plan = plan_compaction(content, governance, around(governance), NOW)
    assert canonical(content) == before
    assert applied(content, plan) == plan.content
    assert plan_compaction(plan.content, governance, around(governance), NOW).ops == []
    told = [entry for detail in plan.details for entry in detail.entries]
    assert find_lost(content, plan, governance, around(governance), saved=told) == ()
    return plan


def told(plan: MaintenancePlan) -> dict[str, list[Json]]:
    return {detail.section: list(detail.entries) for detail in plan.details}


# Merging.


@pytest.mark.parametrize(
    ("entries", "left"),
    [
        (["Short answers.", "short answers"], ["short answers"]),
        (["a", "b", "A", "a!"], ["b", "a!"]),
        (["C", "C++", "C#"], ["C", "C++", "C#"]),
        ([{"text": "a"}, "a"], [{"text": "a"}]),
        (
            [{"text": "a", "who": "x"}, {"text": "a", "who": "y"}],
            [{"text": "a", "who": "x"}, {"text": "a", "who": "y"}],
        ),
        ([{"id": "1", "text": "a"}, {"id": "2", "text": "a"}], [{"id": "2", "text": "a"}]),
        ([{"text": 5}, {"text": 5}], [{"text": 5}, {"text": 5}]),
    ],
)
def test_entries_that_say_the_same_become_one(entries: Any, left: Any) -> None:
    plan = compact({"notes": entries}, NOTES)
    assert plan.content == {"notes": left}
    assert {step.action for step in plan.steps} <= {EntryAction.MERGED}
    assert told(plan) == {}


@pytest.mark.parametrize(
    ("one", "other", "kept"),
    [
        ({"confidence": 0.9}, {"confidence": 0.8}, 0),
        ({"confidence": 0.8, "last_verified_at": ago(1)}, {"confidence": 0.9, "last_verified_at": ago(9)}, 1),
        ({"confidence": 0.9, "last_verified_at": ago(1)}, {"confidence": 0.9, "last_verified_at": ago(9)}, 0),
        ({"last_verified_at": ago(9)}, {"last_verified_at": ago(1)}, 1),
        ({}, {"confidence": 0.0}, 1),
        ({"last_verified_at": "some day"}, {"last_verified_at": ago(1)}, 1),
    ],
)
def test_the_surer_stays_then_the_fresher_then_the_later(one: Any, other: Any, kept: Any) -> None:
    plan = compact({"facts": [{"id": "0", "text": "x", **one}, {"id": "1", "text": "x", **other}]}, FACTS)
    assert [entry["id"] for entry in plan.content["facts"]] == [str(kept)]


def test_the_newest_verification_of_the_same_becomes_that_of_the_one_that_stays() -> None:
    entries = [fact("x", confidence=0.95, last_verified_at=ago(90)), fact("X.", last_verified_at=ago(2))]
    assert compact({"facts": entries}, FACTS).content["facts"] == [fact("x", confidence=0.95, last_verified_at=ago(2))]


def test_entries_of_one_class_become_one_that_expires_last() -> None:
    first, second = (
        fact("x", lives="soon", confidence=sure, expires_at=ago(-days)) for sure, days in ((0.9, 1), (0.5, 9))
    )
    for section, left in (
        (FACTS | {"ttl_field": "lives"}, [{**first, "expires_at": ago(-9)}]),
        (FACTS, [first, second]),
    ):
        assert compact({"facts": [first, second]}, section).content["facts"] == left


def test_evidence_is_merged_without_duplicates() -> None:
    first, second, third = ({"conversation_id": f"c{n}"} for n in range(3))
    entries = [
        fact("x", confidence=0.95, evidence={**first, "also": [second]}),
        fact("x", evidence=third),
        fact("x", evidence=second),
        fact("x"),
    ]
    plan = compact({"facts": entries}, FACTS)
    assert plan.content["facts"] == [fact("x", confidence=0.95, evidence={**first, "also": [second, third]})]
    assert told(plan) == {}
    assert [step.into for step in plan.steps] == [plan.content["facts"][0]] * 3


def test_evidence_that_the_schema_has_no_room_for_goes_to_an_event() -> None:
    full = {"conversation_id": "c", "snapshot_uri": "s", "span": "1-2", "event_id": "e"}
    gone = fact("x", evidence={"conversation_id": "d"}, last_verified_at=ago(0.5))
    plan = compact({"facts": [fact("x", confidence=0.95, evidence=full), gone]}, FACTS)
    assert plan.content["facts"] == [fact("x", confidence=0.95, evidence=full, last_verified_at=ago(0.5))]
    assert told(plan) == {"/facts": [gone]}


def test_evidence_does_not_grow_beyond_what_evidence_may_be() -> None:
    entries = [fact("x", evidence={"conversation_id": f"{n}" * (MAX_EVIDENCE_BYTES // 2)}) for n in range(3)]
    plan = compact({"facts": entries}, FACTS)
    assert plan.content["facts"] == [entries[-1]]
    assert told(plan) == {"/facts": entries[:-1]}


def test_proposals_of_the_same_by_the_same_become_one() -> None:
    rule = {"section": "/waiting", "merge": True, "verified_field": "proposed_at"}
    value = {"id": "2", "text": "X!", "confidence": 0.4, "last_verified_at": ago(3)}
    again = proposal("x!", id="2", proposed_at=ago(1), target={**proposal("x")["target"], "value": value})
    others = [
        proposal("x", proposed_by="svc-bob"),
        proposal("x", target={"op": "add", "path": "/content/notes/-", "value": "x"}),
        proposal("x", target={"op": "add", "path": "/content/facts/-", "value": {"text": "x", "scope": "home"}}),
        proposal("x", target={"op": "remove", "path": "/content/title"}),
    ]
    plan = compact({"waiting": [proposal("x"), *others, again]}, rule, FACTS)
    assert plan.content["waiting"] == [*others, again]


def test_a_proposal_has_the_sources_of_those_that_are_merged_into_it() -> None:
    rule = {"section": "/waiting", "merge": True, "verified_field": "proposed_at"}
    sources = [{"conversation_id": f"c{number}"} for number in (1, 2)]
    items = [
        proposal("x", evidence=source, target={**proposal("x")["target"], "value": fact("x", evidence=source)})
        for source in sources
    ]
    (item,) = compact({"waiting": items}, rule, FACTS).content["waiting"]
    joint = {**sources[1], "also": [sources[0]]}
    assert (item["evidence"], item["target"]["value"]["evidence"]) == (joint, joint)
    (item,) = compact({"waiting": [one | {"evidence": None} for one in items]}, rule, FACTS).content["waiting"]
    assert (item["evidence"], item["target"]["value"]["evidence"]) == (None, joint)


# Expiry.


@pytest.mark.parametrize(
    ("expires_at", "gone"),
    [(ago(1), True), (ago(0), True), (ago(-1), False), ("2026-05-31", True), ("2026-06-01", False), ("soon", False),
     (None, False), (5, False), ("9999-12-31", False)],
)  # fmt: skip
def test_expired_entries_are_removed_and_saved(expires_at: Any, gone: Any) -> None:
    entry = fact("x", expires_at=expires_at)
    plan = compact({"facts": [entry]}, FACTS)
    assert plan.content["facts"] == ([] if gone else [entry])
    assert told(plan) == ({"/facts": [entry]} if gone else {})
    assert [step.action for step in plan.steps] == [EntryAction.EXPIRED] * gone


# Giving way.


def test_the_first_section_gives_way_first_oldest_first_and_no_further_than_needed() -> None:
    notes, likes = [f"note {n}" for n in range(6)], [f"like {n}" for n in range(4)]
    content = {"notes": notes, "likes": likes}
    by_count = [{"notes": notes[n:], "likes": likes} for n in range(5)]
    by_count += [{"notes": notes[4:], "likes": likes[n:]} for n in range(1, 4)]
    for room in range(len(canonical(content)), 40, -1):
        enough = [left for left in by_count if len(canonical(left)) <= room]
        plan = compact(content, NOTES, LIKES, max_chars=room)
        assert plan.content == (enough or by_count[-1:])[0]


VALUED = {
    **NOTES,
    "trim_by": [{"field": "importance", "order": ["low", "normal", "high"], "default": "normal"}, {"field": "sure"}],
}


@pytest.mark.parametrize("number", range(5))
def test_the_least_valuable_entry_goes_first_then_the_oldest(number: Any) -> None:
    notes = [
        {"text": "high and old", "importance": "high"},
        {"text": "normal and sure", "importance": "normal", "sure": 0.9},
        {"text": "normal and unsure", "sure": 0.5},
        {"text": "low but sure", "importance": "low", "sure": 1},
        "older, says nothing",
        {"text": "of no known worth", "importance": 7, "sure": True},
        {"text": "normal and integral", "sure": 1},
    ]
    left = [notes[n] for n in sorted([3, 4, 5, 2, 1, 6, 0][number:])]
    plan = compact({"notes": notes}, VALUED, max_chars=len(canonical({"notes": left})))
    assert plan.content == {"notes": left}
    assert told(plan) == ({"/notes": [note for note in notes if note not in left]} if number else {})


@pytest.mark.parametrize(("fill", "left"), [(1.0, 10), (0.8, 8), (0.5, 5), (0.1, 2)])
def test_a_section_gives_way_before_its_array_is_full(fill: Any, left: Any) -> None:
    plan = compact({"notes": [f"n{n}" for n in range(10)]}, NOTES, upkeep_fill=fill,
                   compaction_rules={"b": {"max_notes": 10}})  # fmt: skip
    assert len(plan.content["notes"]) == left


def test_a_durable_section_gives_way_only_in_what_is_less_sure() -> None:
    entries = [fact("a", confidence=0.95), fact("b", confidence=0.5), fact("c", confidence=0.7), {"text": "d"}]
    trimmed = {"section": "/facts", "keep": 0, "trim_below": 0.7}
    plan = compact({"facts": entries}, trimmed, max_chars=10)
    assert plan.content["facts"] == [entries[0], *entries[2:]]
    assert told(plan) == {"/facts": [entries[1]]}


def test_what_is_durable_to_another_profile_does_not_give_way() -> None:
    governance = rules(NOTES, max_chars=5)
    protected = ProtectedSections((("notes",),), ())
    content = {"notes": ["a", "a", "b", "c"]}
    plan = plan_compaction(content, governance, protected, NOW)
    assert plan.content == {"notes": ["a", "b", "c"]}


def test_many_operations_become_one_a_section() -> None:
    content = {"notes": [f"note {n}" for n in range(9)], "likes": ["a", "b", "A"]}
    few = compact(content, NOTES, LIKES, max_chars=60, max_ops=2)
    assert [op["op"] for op in few.ops] == ["replace", "remove"]
    assert compact(content, NOTES, LIKES, max_chars=60).content == few.content


# Pending items that would change an entry.


def test_the_entry_that_a_pending_item_would_change_stays_as_it_is() -> None:
    base = {"notes": [{"text": "c"}]}
    waits = proposal("x", target={"op": "replace", "path": "/content/notes/0/text", "value": "y"}, base=base)
    content = {"notes": ["a", "A", {"text": "c"}, "d", "D", "e", "C"], "waiting": [waits]}
    plan = compact(content, NOTES, max_chars=10)
    assert plan.content["notes"] == [{"text": "c"}, "C"]


@pytest.mark.parametrize(
    "path", ["/content/notes/-", "/content/notes", "/content/likes/1", "/content/notes/99", "x", 5]
)
def test_other_proposals_hold_nothing(path: Any) -> None:
    base = {"notes": list("aAbc"), "likes": list("ab")}
    waits = proposal("x", target={"op": "add", "path": path, "value": "y"}, base=base)
    plan = compact({"notes": list("aAbc"), "waiting": [waits]}, NOTES)
    assert plan.content["notes"] == list("Abc")


def test_when_the_proposal_goes_the_entries_are_free_in_the_same_run() -> None:
    target = {"op": "move", "from": "/content/notes/3", "path": "/content/likes/-"}
    waits = proposal("x", target=target, base={"notes": list("abcd"), "likes": []})
    content = {"notes": list("abcd"), "waiting": [waits, proposal("y")]}
    plan = compact(content, {"section": "/notes", "keep": 1}, {"section": "/waiting", "keep": 1}, max_chars=300)
    assert len(plan.content["waiting"]) == 1
    held = compact(content, {"section": "/notes", "keep": 0}, max_chars=50)
    assert held.content["notes"] == ["d"]
    tight = compact(content, {"section": "/notes", "keep": 0}, {"section": "/waiting", "keep": 1}, max_chars=50)
    assert tight.content["notes"] == []


def test_the_same_addition_to_two_entries_stays_two_proposals() -> None:
    # An index counts among the entries of `base`, so both paths are the same.
    target = {"op": "add", "path": "/content/facts/0/scope", "value": "home"}
    items = [proposal("x", id=name, target=target, base={"facts": [fact(name)]}) for name in ("a", "b")]
    assert compact({"waiting": items}, WAITING | {"keep": 9}).content["waiting"] == items


# Over anything.

words = st.sampled_from(["a", "A", "b", "B.", "c", "long " * 12])
times = st.sampled_from([ago(200), ago(50), ago(1), "some day"])
evidence = st.sampled_from([{"conversation_id": "c1"}, {"conversation_id": "c2"}, {"a": 1, "b": 2, "c": 3, "d": 4}])
facts = st.lists(
    st.fixed_dictionaries(
        {"text": words},
        optional={
            "id": st.sampled_from(["1", "2"]),
            "confidence": st.sampled_from([0.2, 0.7, 0.95]),
            "evidence": evidence,
            "last_verified_at": times,
            "expires_at": st.sampled_from([ago(1), ago(-1)]),
            "scope": st.sampled_from(["home", "work"]),
        },
    ),
    max_size=7,
)
notes = st.lists(st.one_of(words, st.fixed_dictionaries({"text": words}, optional={"evidence": evidence})), max_size=8)
targets = st.one_of(
    st.builds(lambda at: {"op": "remove", "path": at}, st.sampled_from(["/content/notes/1", "/content/facts/0"])),
    st.builds(lambda text: {"op": "add", "path": "/content/facts/-", "value": {"text": text}}, words),
)
waiting = st.lists(st.builds(lambda text, target: proposal(text, target=target), words, targets), max_size=4)
contents = st.fixed_dictionaries(
    {}, optional={"notes": notes, "facts": facts, "waiting": waiting, "likes": st.lists(words)}
)
WAITING = {"section": "/waiting", "merge": True, "keep": 1, "verified_field": "proposed_at"}
UNSURE = {**FACTS, "keep": 1, "trim_below": 0.8}
BARE = SectionUpkeep(section="/facts")
orders = st.permutations(
    [{**NOTES, "trim_by": [{"field": "text", "order": ["c", "b"]}]}, LIKES, WAITING, UNSURE]
).flatmap(lambda sections: st.integers(0, 4).map(lambda count: sections[:count]))


@settings(max_examples=100)
@given(
    contents,
    orders,
    st.sampled_from([20, 150, 400, 100_000]),
    st.sampled_from([4, 10, 1000]),
    st.sampled_from([0.5, 1.0]),
)
def test_any_content_is_compacted_in_one_go_and_loses_nothing_durable(
    content: Any, sections: Any, max_chars: Any, max_ops: Any, fill: Any
) -> None:
    plan = compact(content, *sections, max_chars=max_chars, max_ops=max_ops, upkeep_fill=fill,
                   compaction_rules={"b": {"max_notes": 4, "max_facts": 6}})  # fmt: skip
    assert len(plan.ops) <= max_ops
    sure = {canonical(f) for f in content.get("facts", ()) if f.get("confidence", 0) > 0.8}
    trimmed = {canonical(step.entry) for step in plan.steps if step.action is EntryAction.TRIMMED}
    assert not sure & trimmed
    gone = [entry for detail in plan.details for entry in detail.entries]
    said = {entry_identity(entry, BARE) for entry in [*plan.content.get("facts", ()), *gone]}
    assert {entry_identity(entry, BARE) for entry in content.get("facts", ())} <= said


@settings(max_examples=60)
@given(contents.filter(lambda content: "waiting" not in content), st.sampled_from([20, 150, 400]))
def test_afterwards_a_document_is_within_its_limits_or_every_section_is_down_to_what_it_keeps(
    content: Any, max_chars: Any
) -> None:
    sections = [NOTES, LIKES, UNSURE]
    left = compact(content, *sections, max_chars=max_chars).content
    if len(canonical(left)) > max_chars:
        assert len(left.get("notes", ())) <= 2
        assert len(left.get("likes", ())) <= 1
        unsure = [f for f in left.get("facts", ()) if (confidence_of(f, BARE) or 1) < 0.8]
        assert len(left.get("facts", ())) <= 1 or unsure == []
