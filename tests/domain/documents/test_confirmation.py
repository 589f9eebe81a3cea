"""Confirmations and rejections: whatever happens in between, they change what was proposed, or nothing."""

from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memnet.domain.catalog.schema import Schema, schema_uri
from memnet.domain.catalog.schema_additive import ADDITIVE_TO
from memnet.domain.core.access import Reason
from memnet.domain.core.errors import (
    ConfidenceTooLow,
    EntryExpired,
    EvidenceRequired,
    FieldDenied,
    MalformedRequest,
    MemnetError,
    PathNotWritable,
    PendingItemNotFound,
    PendingTargetChanged,
    ProfileForbidden,
    ProposerCannotConfirm,
)
from memnet.domain.core.evidence import MAX_EVIDENCE_BYTES
from memnet.domain.upkeep.compaction import plan_compaction
from memnet.domain.upkeep.freshness import plan_freshness
from tests.domain.pending_scenario import ABCD, PROFILE, READER, SCHEMA, Memory, fact, memory, texts
from tests.domain.samples import ALICE, ANYTHING, BOB, EVIDENCE, NOW, op, small_rules


def test_only_the_proposed_operation_needs_a_writable_path_and_none_is_counted() -> None:
    before = fact("a", evidence=EVIDENCE)
    rules = {**PROFILE, "schema": SCHEMA, "max_ops": 1}
    subject = Memory(
        {"facts": [before], "likes": [], "home": "Bern", "waiting": []},
        small_rules(**rules, writable_path_rules={"b": ["/facts/*/text"]}),
    )
    item = subject.propose(op("replace", "/content/facts/0/text", value="A"))
    closed = Memory(subject.content, small_rules(**rules, writable_path_rules={"b": ["/facts/*/mark"]}))
    with pytest.raises(PathNotWritable):
        closed.confirm(item)
    subject.confirm(item)
    [changed] = subject.content["facts"]
    assert (changed["text"], changed["confidence"], subject.content["waiting"]) == ("A", 0.95, [])


@pytest.mark.parametrize(
    ("before", "proposed", "live"),
    [
        ({"facts": ABCD}, op("replace", "/content/facts/0/text", value="A"), [op("remove", "/content/facts/0")]),
        ({"facts": ABCD}, op("remove", "/content/facts/0"), [op("remove", "/content/facts/0")]),
        (
            {"facts": ABCD},
            op("remove", "/content/facts/0"),
            [op("remove", "/content/facts/0"), op("add", "/content/facts/-", value=fact("z", text="a"))],
        ),
        (
            {"facts": [{"text": "a", "mark": 1, "author_id": "x"}, {"text": "b", "mark": 1, "author_id": "x"}]},
            op("replace", "/content/facts/0/mark", value=2),
            [op("remove", "/content/facts/0")],
        ),
        ({"likes": ["tea", "tea"]}, op("remove", "/content/likes/0"), []),
        ({"likes": ["tea", "beer"]}, op("remove", "/content/likes/0"), [op("add", "/content/likes/-", value="tea")]),
        ({}, op("replace", "/content/home", value="Lisbon"), [op("replace", "/content/home", value="Porto")]),
    ],
)
def test_what_was_changed_is_gone_or_ambiguous_is_refused_and_nothing_is_written(
    before: Any, proposed: Any, live: Any
) -> None:
    subject = memory(**deepcopy(before))
    item = subject.propose(proposed)
    if live:
        subject.patch(*live)
    was = deepcopy(subject.content)
    with pytest.raises(PendingTargetChanged):
        subject.confirm(item)
    assert subject.content == was
    subject.reject(item)
    assert subject.content["waiting"] == []


def test_only_readers_get_the_three_versions_in_the_error() -> None:
    subject = memory()
    item = subject.propose(op("replace", "/content/home", value="Lisbon"))
    subject.patch(op("replace", "/content/home", value="Porto"))
    known = {"pending_id": item, "why": "changed", "path": "/content/home"}
    target = {"op": "replace", "path": "/content/home", "value": "Lisbon"}
    for actor, values in [(READER, {"base": "Bern", "ours": target, "theirs": "Porto"}), (BOB, {})]:
        with pytest.raises(PendingTargetChanged) as refused:
            subject.confirm(item, actor)
        assert refused.value.details == known | values


def test_the_entry_gets_confidence_evidence_and_time_of_the_confirmation() -> None:
    subject = memory()
    item = subject.propose(op("add", "/content/facts/-", value=fact("a", evidence=EVIDENCE)))
    made = subject.confirm(item)
    evidence = {"event_id": "e1", "also": [EVIDENCE]}
    sure = fact("a", confidence=0.95, evidence=evidence, last_verified_at="2026-06-01")
    assert (subject.content["facts"], subject.content["waiting"]) == ([sure], [])
    assert (made.reason, made.confidence, len(made.ops)) == (Reason.CONFIRMATION, 0.95, 2)
    assert made.evidence == {"event_id": "e1", "pending_id": item}
    within = subject.propose(op("replace", "/content/facts/0/text", value="A"))
    subject.confirm(within, confidence=0.8, evidence={"event_id": "e2"})
    [changed] = subject.content["facts"]
    assert (changed["text"], changed["confidence"]) == ("A", 0.8)
    assert changed["evidence"] == {"event_id": "e2", "also": [{"event_id": "e1"}, EVIDENCE]}


def test_the_confirmer_names_several_sources_and_what_fits_of_the_others_stays() -> None:
    small, large = {"event_id": "small"}, {"event_id": "large", "note": "x" * (MAX_EVIDENCE_BYTES - 100)}
    subject = memory(facts=[fact("a", evidence={**EVIDENCE, "also": [large, small]})])
    item = subject.propose(op("add", "/content/facts/0/mark", value=1))
    subject.confirm(item, evidence={"event_id": "e1", "also": [{"event_id": "e2"}]})
    [entry] = subject.content["facts"]
    assert entry["evidence"] == {"event_id": "e1", "also": [{"event_id": "e2"}, EVIDENCE, small]}


def test_an_entry_that_only_gets_more_evidence_keeps_its_confidence() -> None:
    subject = memory()
    item = subject.propose(op("add", "/content/facts/-", value=fact("a", evidence=EVIDENCE)))
    subject.patch(op("add", "/content/facts/-", value=fact("a", confidence=0.99, evidence={"event_id": "live"})))
    subject.confirm(item, confidence=0.8)
    [entry] = subject.content["facts"]
    also = [{"event_id": "live"}, EVIDENCE]
    assert (entry["confidence"], entry["evidence"]) == (0.99, {"event_id": "e1", "also": also})


def test_a_document_under_a_newer_additive_schema_gets_the_same_claims() -> None:
    added = {ADDITIVE_TO: "1.0.0", "properties": SCHEMA["properties"] | {"tools": {"type": "array"}}}
    bodies = {
        version: {**ANYTHING, **SCHEMA, **members, "$id": schema_uri("any", version), "additionalProperties": False}
        for version, members in (("1.0.0", {}), ("1.1.0", added))
    }
    older = {schema_uri("any", "1.0.0"): bodies["1.0.0"]}
    schemas = {("any", version): Schema.compile("any", version, body, older) for version, body in bodies.items()}
    subject = memory()
    rules = replace(subject.rules, schema=schemas["any", "1.1.0"], schemas=schemas)
    subject = Memory({**subject.content, "tools": []}, rules)
    subject.catalog = replace(subject.catalog, schemas=schemas)
    subject.confirm(subject.propose(op("add", "/content/facts/-", value=fact("a"))))
    [entry] = subject.content["facts"]
    assert (entry["confidence"], entry["evidence"]["event_id"], entry["last_verified_at"]) == (0.95, "e1", "2026-06-01")


def test_a_move_is_confirmed_and_what_is_there_already_only_drops_the_item() -> None:
    subject = memory(facts=ABCD)
    item = subject.propose(op("move", "/content/facts/3", from_="/content/facts/0"))
    again = subject.propose(op("add", "/content/likes/-", value="tea"))
    subject.confirm(item)
    assert texts(subject) == ["b", "c", "d", "a"]
    subject.patch(op("add", "/content/likes/-", value="tea"))
    assert len(subject.confirm(again).ops) == 1
    assert (subject.content["likes"], subject.content["waiting"]) == (["tea"], [])


def test_another_value_may_be_confirmed_where_one_was_proposed() -> None:
    subject = memory(facts=ABCD[:1])
    item, removal = subject.propose(op("replace", "/content/home", value="Lisbon")), op("remove", "/content/facts/0")
    subject.confirm(item, values=("Porto",))
    assert subject.content["home"] == "Porto"
    with pytest.raises(MalformedRequest):
        subject.confirm(subject.propose(removal), values=("x",))


def test_a_confirmation_brings_in_nothing_that_a_patch_may_not() -> None:
    subject = living()
    lasting, lapsed, leaking = (
        subject.propose(op("add", "/content/facts/-", value={"text": name, "class": named}))
        for name, named in (("a", "this year"), ("b", "this week"), ("c", "this year"))
    )

    with pytest.raises(FieldDenied):
        subject.confirm(leaking, values=({"text": "The card is 4111 1111 1111 1111."},))
    with pytest.raises(EntryExpired):
        subject.confirm(lapsed)
    subject.confirm(lasting)

    # The class counts from the proposal and not from the confirmation.
    assert [(one["text"], one["until"][:10]) for one in subject.content["facts"]] == [("a", "2027-02-14")]


def living(**sections: Any) -> Memory:
    """A document whose facts live for the time that their class says."""
    section = {"section": "/facts", "expires_field": "until", "ttl_field": "class"}
    rules = {"ttl_classes": {"this week": "P7D", "this year": "P365D"}, "upkeep_rules": {"b": [section]}}
    return Memory({**memory().content, **sections}, small_rules(schema=SCHEMA, **PROFILE | rules))


def test_a_confirmation_does_not_shorten_the_life_of_an_entry_that_was_renewed() -> None:
    subject = living(facts=[fact("a", **{"class": "this week", "until": "2026-02-16T00:00:00.000000Z"})])
    item = subject.propose(op("replace", "/content/facts/0/text", value="b"))
    renewed = "2026-06-03T00:00:00.000000Z"
    subject.patch(op("add", "/content/facts/0/mark", value=1), source_time="2026-05-27T00:00:00Z")
    assert subject.content["facts"][0]["until"] == renewed
    subject.confirm(item)
    assert [(one["text"], one["until"]) for one in subject.content["facts"]] == [("b", renewed)]


def test_who_may_confirm_and_with_which_claims() -> None:
    subject = memory()
    own = subject.propose(op("replace", "/content/home", value="Lisbon"))
    replayed = subject.propose(op("replace", "/content/home", value="Porto"), on_behalf_of=BOB.principal)
    for actor, item in [(ALICE, own), (BOB, replayed), (ALICE, replayed)]:
        with pytest.raises(ProposerCannotConfirm):
            subject.confirm(item, actor)
    with pytest.raises(ConfidenceTooLow):
        subject.confirm(own, confidence=0.79)
    with pytest.raises(EvidenceRequired):
        subject.confirm(own, evidence=None)
    with pytest.raises(PendingItemNotFound):
        subject.confirm("w99")
    made = subject.reject(own, ALICE, note="withdrawn")
    assert (made.reason, made.note, subject.content["home"]) == (Reason.REJECTION, "withdrawn", "Bern")


def test_a_profile_decides_who_confirms() -> None:
    subject = memory(confirmed_by="anyone", allowed_principals=["svc-alice"])
    item = subject.propose(op("replace", "/content/home", value="Lisbon"))
    with pytest.raises(ProfileForbidden):
        subject.confirm(item, BOB)
    subject.confirm(item, ALICE)
    assert subject.content["home"] == "Lisbon"


def test_of_two_items_with_one_id_none_is_confirmed() -> None:
    subject = memory()
    item = subject.propose(op("replace", "/content/home", value="Lisbon"))
    subject.content["waiting"] *= 2
    with pytest.raises(PendingItemNotFound):
        subject.confirm(item)


@pytest.mark.parametrize("broken", [{"base": None}, {"target": None}, {"target": {"op": "add"}}, {"base": {}}])
def test_an_item_that_an_administrator_spoilt_confirms_nothing(broken: Any) -> None:
    subject = memory(facts=ABCD)
    item = subject.propose(op("replace", "/content/facts/0/text", value="A"))
    subject.content["waiting"][0] |= broken
    with pytest.raises(PendingTargetChanged):
        subject.confirm(item)


# Random histories. `mark` identifies an entry; the service does not know it.

WORDS = st.sampled_from(["a", "b", "A!"])
PLACES = st.integers(0, 5)
STEPS = st.one_of(
    st.tuples(st.just("propose"), st.sampled_from(["remove", "replace", "text", "like", "unlike", "move"]), PLACES),
    st.tuples(st.just("propose"), st.sampled_from(["add", "insert"]), PLACES),
    st.tuples(st.just("live"), st.sampled_from(["remove", "text", "insert", "move", "unlike", "like more"]), PLACES),
    st.tuples(st.just("upkeep"), st.sampled_from(["compact", "refresh"]), PLACES),
    st.tuples(st.just("confirm"), st.just(""), PLACES),
    st.tuples(st.just("confirm"), st.just(""), PLACES),
)


@dataclass
class Told:
    """What the writers know and the service does not: which entry each item is about."""

    subject: Memory
    mark: int = 100
    about: dict[str, tuple[str, Any]] = field(default_factory=dict)
    confirmed: int = 0

    def entry(self, word: str) -> dict[str, Any]:
        """A new entry; every other one has an id."""
        self.mark += 1
        own = {"id": f"id-{self.mark}"} if self.mark % 2 else {}
        return {**own, "mark": self.mark, "text": word, "last_verified_at": "2026-01-01" if self.mark % 3 else NOW[:10]}

    def change(self, kind: str, place: int, word: str) -> tuple[dict[str, Any], Any]:
        """An operation, and the entry that it is about."""
        facts, likes = self.subject.content["facts"], self.subject.content["likes"]
        at, like = place % max(1, len(facts)), place % max(1, len(likes))
        if kind in ("add", "insert", "like more"):
            value = word if kind == "like more" else self.entry(word)
            where = {"add": "facts/-", "insert": f"facts/{at if facts else 0}", "like more": f"likes/{like}"}[kind]
            return op("add", f"/content/{where}", value=value), value
        if kind in ("like", "unlike"):
            path = f"/content/likes/{like}"
            meant = likes[like] if likes else None
            return (op("remove", path) if kind == "unlike" else op("replace", path, value=f"{word}?")), meant
        meant = facts[at]["mark"] if facts else None
        if kind == "move":
            return op("move", "/content/facts/0", from_=f"/content/facts/{at}"), meant
        if kind == "text":
            return op("replace", f"/content/facts/{at}/text", value=f"{word} {place}"), meant
        value = {"mark": meant, "text": f"{word} {place}"}
        path = f"/content/facts/{at}"
        return (op("remove", path) if kind == "remove" else op("replace", path, value=value)), meant

    def confirm(self, place: int) -> None:
        """Confirm one of those that wait, and see that nothing but its entry has changed."""
        subject = self.subject
        waiting = [item["id"] for item in subject.content["waiting"] if item["id"] in self.about]
        if not waiting:
            return
        item = waiting[place % len(waiting)]
        was = deepcopy(subject.content)
        try:
            subject.confirm(item)
        except PendingTargetChanged:
            assert subject.content == was
            return
        self.confirmed += 1
        kind, meant = self.about[item]
        has = subject.content
        assert [one["id"] for one in has["waiting"]] == [one["id"] for one in was["waiting"] if one["id"] != item]
        if kind in ("like", "unlike"):
            assert has["facts"] == was["facts"]
            assert len(Counter(was["likes"]) - Counter(has["likes"])) <= 1
            assert Counter(was["likes"]) - Counter(has["likes"]) <= Counter([meant])
            return
        mark = meant["mark"] if kind in ("add", "insert") else meant
        assert has["likes"] == was["likes"]
        others = [[one for one in side["facts"] if one["mark"] != mark] for side in (was, has)]
        assert others[0] == others[1]
        # An addition is dropped if another entry says the same by now.
        there = sum(one["mark"] == mark for one in has["facts"])
        assert there <= 1 if kind in ("add", "insert") else there == (kind != "remove")


@settings(max_examples=150, deadline=None)
@given(start=st.lists(WORDS, max_size=5), steps=st.lists(st.tuples(STEPS, WORDS), min_size=4, max_size=16))
def test_no_confirmation_changes_another_entry_than_the_proposed_one(start: Any, steps: Any) -> None:
    told = Told(memory(likes=list(start)))
    told.subject.content["facts"] = [told.entry(word) for word in start]
    planners = {"compact": plan_compaction, "refresh": partial(plan_freshness, proposer="memnet-worker")}
    for (step, kind, place), word in steps:
        if step == "confirm":
            told.confirm(place)
        elif step == "upkeep":
            told.subject.tend(planners[kind])
        else:
            change, meant = told.change(kind, place, word)
            try:
                if step == "live":
                    told.subject.patch(change)
                else:
                    told.about[told.subject.propose(change)] = (kind, meant)
            except MemnetError:
                continue
