"""What happens to the values of a document when a source is taken back."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import PathNotWritable
from memnet.domain.documents.entry import evidence_of
from memnet.domain.documents.retraction_gate import decide_retraction
from memnet.domain.documents.statement import contradictions
from memnet.domain.governance.retraction import ValueFate, Why
from memnet.domain.governance.retraction_undo import known_values
from memnet.domain.governance.source import Source, SourceKind
from memnet.domain.history.origin_table import dump_origins
from tests.domain.retraction_document import Recorded, op
from tests.domain.samples import patch_command, version_with
from tests.domain.statement_document import intervals


def fates(made: Any) -> dict[str, str]:
    return {value.pointer: value.fate.value for value in made.values}


def cited(document: Recorded) -> set[str]:
    """The conversations that the entries name."""
    rule = document.document.rules.profile.upkeep_rules["b"][0]
    return {item["conversation_id"] for entry in document.document.facts for item in evidence_of(entry, rule)}


def test_what_rests_on_the_source_alone_goes_and_what_it_closed_holds_again() -> None:
    document = Recorded()
    document.say("Lisbon", "good", 1)
    before = document.copied()
    document.say("Berlin", "bad", 3)
    made = document.take_back()
    assert fates(made) == {"/content/facts/0": "reopened", "/content/facts/1": "removed"}
    assert canonical(document.copied()) == canonical(before)


def test_a_later_statement_follows_the_one_before_the_source() -> None:
    document = Recorded()
    document.say("Lisbon", "good", 1)
    document.say("Berlin", "bad", 3)
    document.say("Rome", "late", 5)
    document.take_back()
    other = Recorded()
    other.say("Lisbon", "good", 1)
    other.say("Rome", "late", 5)
    assert intervals(document.document.facts) == intervals(other.document.facts)
    lisbon, rome = document.document.of("Lisbon"), document.document.of("Rome")
    assert (lisbon["replaced_by"], rome["replaces"]) == (rome["id"], lisbon["id"])


def test_the_same_statement_before_and_after_the_source_is_one_again() -> None:
    document = Recorded()
    document.say("Lisbon", "good", 1)
    document.say("Berlin", "bad", 3)
    document.say("Lisbon", "late", 5)
    made = document.take_back()
    (entry,) = document.document.facts
    assert (entry["value"], entry.get("valid_until")) == ("Lisbon", None)
    assert cited(document) == {"good", "late"}
    assert [row["into"] for row in made.merged] == ["/content/facts/0"]
    # It rests on both still: taking the first one back leaves what the second one said.
    document.take_back(Source(kind=SourceKind.CONVERSATION, conversation_id="good"))
    assert (cited(document), document.document.open()) == ({"late"}, ["Lisbon"])


def test_a_value_with_another_source_stays_and_loses_the_evidence() -> None:
    for first, second in (("good", "bad"), ("bad", "good")):
        document = Recorded()
        document.say("Lisbon", first, 1)
        document.say("Lisbon", second, 3)
        made = document.take_back()
        assert set(fates(made).values()) <= {"stripped", "reopened"}
        assert (cited(document), document.document.open()) == ({"good"}, ["Lisbon"])


def test_a_scalar_goes_back_to_the_newest_clean_value() -> None:
    document = Recorded()
    for number, (value, source) in enumerate((("a", "good"), ("b", "bad"), ("c", "bad"))):
        verb = "replace" if number else "add"
        document.patch(op(verb, "/home", value), source=source)
    made = document.take_back()
    assert (document.copied()["home"], fates(made)) == ("a", {"/content/home": "put_back"})
    assert document.take_back(Source(kind=SourceKind.CONVERSATION, conversation_id="good")).ops[0]["op"] == "remove"


def test_a_confirmation_is_no_source_unless_it_cites_one() -> None:
    document = Recorded()
    document.say("Lisbon", "good", 1)
    waiting = {"id": "p1", "text": "t", "proposed_by": "w", "binding_id": "b", "profile_id": "p"}
    target = {"op": "add", "path": "/content/notes/-", "value": "from the source"}
    item = waiting | {"target": target, "base": {"notes": []}}
    document.record([op("add", "/waiting/-", item)], evidence={"conversation_id": "bad"})
    document.record([op("remove", "/waiting/0"), target], reason="confirmation", evidence={"pending_id": "p1"})
    document.document.content["notes"].append("from the source")
    document.take_back()
    assert (document.copied()["notes"], document.document.open()) == ([], ["Lisbon"])


def test_a_pending_item_of_the_source_goes_and_another_one_stays() -> None:
    document = Recorded()
    for number, source in enumerate(("bad", "good")):
        item = {"id": f"p{number}", "proposed_by": "w", "target": {"op": "add", "path": "/content/notes/-", "value": 1}}
        document.record([op("add", "/waiting/-", item)], evidence={"conversation_id": source})
        document.document.content["waiting"].append(item)
    made = document.take_back()
    assert (fates(made), [one["id"] for one in document.document.waiting]) == (
        {"/content/waiting/0": "removed"},
        ["p1"],
    )


def test_a_container_of_the_source_stays_for_what_others_put_into_it() -> None:
    document = Recorded()
    document.patch(op("add", "/box", {"a": 1, "list": ["x"]}), source="bad")
    document.patch(op("add", "/box/b", 2), source="good")
    document.patch(op("add", "/box/list/-", "y"), source="good")
    document.take_back()
    assert document.copied()["box"] == {"b": 2, "list": ["y"]}


def test_an_array_that_the_source_created_stays_and_is_emptied() -> None:
    document = Recorded()
    document.patch(op("add", "/tags", ["bad"]), source="bad")
    document.patch(op("add", "/tags/-", "good"), source="good")
    document.patch(op("add", "/words", ["bad"]), source="bad")
    made = document.take_back()
    assert fates(made) == {"/content/tags/0": "removed", "/content/words/0": "removed"}
    assert (document.copied()["tags"], document.copied()["words"]) == (["good"], [])


def test_what_the_schema_forbids_to_remove_is_reported_and_the_rest_is_done() -> None:
    document = Recorded()
    document.say("Lisbon", "bad", 1, subject="user", attribute="lives in")
    document.patch(op("add", "/notes/-", "bad note"), source="bad")
    # Another writer says something else of the same entry: without its subject it would violate the schema.
    document.record([op("add", "/facts/0/breed", "tall")], evidence={"conversation_id": "good"})
    document.document.content["facts"][0]["breed"] = "tall"
    made = document.plan()
    stays = {value.pointer: value.why for value in made.values if value.fate is ValueFate.UNRESOLVED}
    assert stays == {"/content/facts/0": Why.SCHEMA}
    assert [one["path"] for one in made.ops] == ["/content/notes/0"]


def test_an_entry_older_than_the_history_is_reported_and_stays() -> None:
    document = Recorded()
    document.say("Lisbon", "bad", 1)
    assert document.origins.content is not None
    for _, node in document.origins.content.nodes():
        node.origin = replace(node.origin, is_known=False, evidence=None, actor=None, reason=None)
    made = document.plan()
    assert [(one.pointer, one.why) for one in made.values] == [("/content/facts/0", Why.OLDER_THAN_HISTORY)]
    assert list(made.ops) == []


VALUES = st.sampled_from(["Lisbon", "Berlin", "Rome"])
SAID = st.lists(
    st.tuples(VALUES, st.sampled_from(["bad", "good1", "good2", "good3"]), st.integers(1, 9), st.booleans()),
    min_size=1,
    max_size=9,
)


SPLIT = [
    ("Berlin", "bad", 1),
    ("Berlin", "bad", 3),
    ("Berlin", "good1", 2),
    ("Lisbon", "good1", 2),
    ("Lisbon", "bad", 1),
]
"""The source splits an entry of another one, which so begins later."""


@settings(max_examples=300, deadline=None)
@example([(*one, False) for one in SPLIT])
@given(SAID)
def test_statements_are_what_they_were_had_the_source_said_nothing(said: list[Any]) -> None:
    """The oracle: the document built without the source's statements."""
    taken, clean = Recorded(), Recorded()
    for value, source, at, has_home in said:
        for document in (taken, clean) if source != "bad" else (taken,):
            document.say(value, source, at)
            if has_home:
                verb = "replace" if "home" in document.copied() else "add"
                document.patch(op(verb, "/home", f"{value} {source} {at}"), source=source)
    untouched = canonical(taken.copied())
    made = taken.take_back()
    if "bad" not in {source for _, source, _, _ in said}:
        assert canonical(taken.copied()) == untouched
    assert not [value for value in made.values if value.fate is ValueFate.UNRESOLVED]
    assert intervals(taken.document.facts) == intervals(clean.document.facts)
    assert "bad" not in cited(taken)
    assert cited(taken) == cited(clean)
    assert taken.copied().get("home") == clean.copied().get("home")
    assert not contradictions({"facts": []}, taken.copied(), taken.document.rules.profile.upkeep_rules["b"])
    assert list(taken.plan().ops) == []


AGAIN = [("Berlin", "good2", 1, True), ("Rome", "worse", 3, True), ("Berlin", "worse", 2, True)]
"""The source says again what was there before it."""
SPLIT_BETWEEN = [("Berlin", "bad", 1, False), ("Berlin", "worse", 2, False), ("Lisbon", "good1", 1, False)]
"""Nothing is left of the change that an item of the split entry cites."""
EARLIER = [("Berlin", "worse", 2, False), ("Berlin", "good1", 1, False), ("Lisbon", "bad", 1, False)]
"""The source says first what another one says of an earlier time."""
BOTH = [("Lisbon", "bad", 1, True), ("Lisbon", "worse", 3, True), ("Berlin", "good1", 2, True)]


@settings(max_examples=100, deadline=None)
@example(AGAIN, ["worse", "bad"], 3)
@example(SPLIT_BETWEEN, ["worse", "bad"], 3)
@example(EARLIER, ["worse", "bad"], 3)
@example(BOTH, ["bad", "worse"], 1)
@given(
    st.lists(
        st.tuples(VALUES, st.sampled_from(["bad", "worse", "good1", "good2"]), st.integers(1, 9), st.booleans()),
        min_size=1,
        max_size=9,
    ),
    st.permutations(["bad", "worse"]),
    st.integers(0, 9),
)
def test_of_two_sources_nothing_is_left_whichever_is_taken_back_first(
    said: list[Any], order: list[str], pause: int
) -> None:
    """The oracle: the document built without both. A statement can be made while one of them is taken back already."""
    taken, clean = Recorded(), Recorded()
    sources = [Source(kind=SourceKind.CONVERSATION, conversation_id=name) for name in order]
    for number, (value, source, at, has_home) in enumerate(said):
        if number == pause:
            taken.take_back(sources[0])
        if number >= pause and source == order[0]:
            continue
        for document in (taken, clean) if source not in order else (taken,):
            document.say(value, source, at)
            if has_home:
                verb = "replace" if "home" in document.copied() else "add"
                document.patch(op(verb, "/home", value), source=source)
    for source in sources:
        taken.take_back(source)
    assert intervals(taken.document.facts) == intervals(clean.document.facts)
    assert cited(taken) == cited(clean)
    assert taken.copied().get("home") == clean.copied().get("home")
    assert not [made.ops for made in map(taken.plan, sources) if made.ops]
    content = taken.origins.content
    assert content is not None
    home = content.value.get("home")
    assert home is None or not taken.reach(sources[0]).voids(home)
    assert home is None or home.origin.reason == "live_update"
    assert taken.shortened() == dump_origins(content)


def test_the_gate_refuses_what_the_plan_does_not_name_and_what_never_was() -> None:
    document = Recorded()
    document.say("Lisbon", "good", 1)
    document.patch(op("add", "/home", "a"), source="good")
    rules, content = document.document.rules, document.origins.content
    assert content is not None
    current = version_with(rules, document.copied())
    sections = rules.profile.upkeep_rules["b"]
    for ops, named in (
        ([op("remove", "/home")], ["/content/facts/0"]),
        ([op("replace", "/home", "never said")], ["/content/home"]),
        ([op("replace", "/home", "Lisbon")], ["/content/home"]),
        ([{"op": "move", "from": "/content/home", "path": "/content/house"}], ["/content/house", "/content/home"]),
    ):
        with pytest.raises(PathNotWritable):
            decide_retraction(
                patch_command(*ops), rules, current, named=named, known=known_values(content), statements=sections
            )


def test_an_item_that_only_a_closed_source_cites_keeps_no_entry() -> None:
    worse = Source(kind=SourceKind.CONVERSATION, conversation_id="worse")
    document = Recorded()
    document.say("Lisbon", "worse", 1)
    document.take_back(worse)
    also = [{"conversation_id": "worse", "message_ids": ["m1"]}]
    document.say("Berlin", "bad", 3, evidence={"conversation_id": "bad", "message_ids": ["m3"], "also": also})
    document.take_back()
    assert document.document.facts == []
