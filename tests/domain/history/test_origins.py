"""Origins: every value names the change that put it, whatever happened around it since."""

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memnet.domain.core import json_patch
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import MemnetError
from memnet.domain.core.json_patch import pointer, pointer_text
from memnet.domain.history.origin import MAX_BEFORE, MAX_SOURCES, Traced
from memnet.domain.history.origin_table import dump_origins, load_origins
from memnet.domain.history.origins import Origins
from memnet.domain.history.restored_origins import restored

EMPTY: dict[str, Any] = {"notes": [], "facts": [], "box": {}}


def record(sequence: int, *ops: Any, reason: str = "live_update", **members: Any) -> dict[str, Any]:
    """The members of an audit record that origins are made of."""
    made = {"sequence": sequence, "ops": list(ops), "reason": reason, "timestamp": f"t{sequence}"}
    given = {"change_id": f"d-{sequence}", "actor": f"a{sequence}", "application": None, "profile_id": "p"}
    rules = {"binding_id": "b", "profile_version": "1", "source_time": None}
    return made | given | rules | {"confidence": None, "evidence": None} | members


def op(verb: str, path: str, *value: Any, **members: Any) -> dict[str, Any]:
    return {"op": verb, "path": f"/content{path}"} | ({"value": value[0]} if value else {}) | members


def origins_of(*records: dict[str, Any], content: Any = None) -> Origins:
    """The origins after these changes of a document that change 1 created."""
    origins = Origins()
    for one in (record(1, op("add", "", content or copy.deepcopy(EMPTY))), *records):
        origins.take(one)
    return origins


def at(origins: Origins, path: str) -> Traced:
    assert origins.content is not None
    return origins.content.at(pointer(path))


def leaves(node: Traced) -> Iterator[Traced]:
    children = list(node.value.values() if isinstance(node.value, dict) else node.value if node.value else ())
    if not isinstance(node.value, (dict, list)):
        yield node
    elif children:
        for child in children:
            yield from leaves(child)


class Writer:
    """Writes random changes. Each new text begins with the number of the change that puts it."""

    def __init__(self, data: st.DataObject) -> None:
        self.data, self.sequence, self.count = data, 1, 0
        self.content = copy.deepcopy(EMPTY)
        self.origins = Origins()
        self.origins.take(record(1, op("add", "", copy.deepcopy(EMPTY))))

    def text(self) -> str:
        self.count += 1
        return f"{self.sequence}:{self.count}"

    def fact(self) -> dict[str, Any]:
        return {"id": self.text(), "text": self.text(), "said": [self.text()], "by": {"name": self.text()}}

    def change(self) -> None:
        """Make one change, if its operations apply."""
        self.sequence += 1
        edits = self.data.draw(st.integers(0, 3))
        ops = [self.edit() for _ in range(edits)] or [self.rewriting()]
        try:
            after = json_patch.apply({"content": copy.deepcopy(self.content)}, copy.deepcopy(ops))
        except MemnetError:
            return
        self.content = after["content"]
        self.origins.take(record(self.sequence, *ops))

    def edit(self) -> dict[str, Any]:
        spot = str(self.data.draw(st.integers(0, 3)))
        name = self.data.draw(st.sampled_from(["x", "y", "a/b"]))
        choice = self.data.draw(st.integers(0, 9))
        end = self.data.draw(st.sampled_from([spot, "-"]))
        below = pointer_text([name])
        return [
            op("add", f"/notes/{end}", self.text()),
            op("add", f"/facts/{end}", self.fact()),
            op("replace", f"/facts/{spot}/text", self.text()),
            op("add", f"/facts/{spot}/said/-", self.text()),
            op("replace", f"/notes/{spot}", self.text()),
            op("remove", f"/{self.data.draw(st.sampled_from(['notes', 'facts']))}/{spot}"),
            op("move", f"/notes/{end}", **{"from": f"/content/notes/{name.count('/')}"}),
            op("move", f"/facts/{end}", **{"from": "/content/facts/0"}),
            op("copy", f"/box{below}", **{"from": f"/content/facts/{spot}"}),
            op("add", f"/box{below}", {"deep": [self.text()]}),
        ][choice]

    def rewriting(self) -> dict[str, Any]:
        """One operation that writes what is there again; after another one in its change, it could restore a value."""
        if self.data.draw(st.booleans()):
            return op("replace", "/facts", self.again(self.content["facts"]))
        return op("add", "", {**copy.deepcopy(self.content), "notes": self.again(self.content["notes"])})

    def again(self, elements: list[Any]) -> list[Any]:
        """Some of the elements in another order, some of the objects changed, and a new one."""
        kept = copy.deepcopy(self.data.draw(st.permutations(elements)))[: self.data.draw(st.integers(0, 4))]
        for element in kept:
            if isinstance(element, dict) and self.data.draw(st.booleans()):
                element["text"] = self.text()
        return [*kept, self.text()]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_every_value_names_the_change_that_put_it(data: st.DataObject) -> None:
    writer = Writer(data)
    for _ in range(data.draw(st.integers(1, 12))):
        writer.change()
    content = writer.origins.content
    assert content is not None
    assert content.plain() == writer.content
    for leaf in leaves(content):
        if isinstance(leaf.value, str):
            assert leaf.origin.sequence == int(leaf.value.partition(":")[0]), leaf.value


def test_a_value_that_is_written_again_keeps_its_origin() -> None:
    fact = {"id": "f1", "text": "Lives in Bern.", "confidence": 0.8}
    made = origins_of(
        record(2, op("add", "/facts/-", fact)),
        record(3, op("replace", "", {**EMPTY, "facts": [{"id": "f0", "text": "New."}, fact]})),
        record(4, op("replace", "/facts/1", {**fact, "confidence": 0.9})),
    )
    found = at(made, "/facts/1")
    assert [found.value[name].origin.sequence for name in ("id", "text", "confidence")] == [2, 2, 4]
    assert (found.origin.sequence, found.newest().sequence, at(made, "/facts/0").origin.sequence) == (2, 4, 3)


def test_a_confirmation_is_the_origin_of_all_that_it_writes_and_names_the_proposer() -> None:
    item = {"id": "p1", "proposed_by": "svc-a", "proposed_at": "t2"}
    fact = {"id": "f1", "text": "Lives in Bern."}
    made = origins_of(
        record(2, op("add", "/facts/-", fact), op("add", "/notes/-", item)),
        record(3, op("remove", "/notes/0"), op("replace", "/facts/0", fact), reason="confirmation"),
    )
    for place in ("/facts/0", "/facts/0/text"):
        origin = at(made, place).origin
        assert (origin.sequence, origin.is_confirmed) == (3, True)
        assert (origin.proposed_by, origin.proposed_at, origin.actor) == ("svc-a", "t2", "a3")
    made.take(record(4, op("replace", "/facts/0/text", "Lives in Lisbon.")))
    assert not at(made, "/facts/0/text").origin.is_confirmed


def test_a_copy_is_not_changed_with_its_source() -> None:
    made = origins_of(
        record(2, op("add", "/box/a", {"text": "One."})),
        record(3, op("copy", "/box/b", **{"from": "/content/box/a"})),
        record(4, op("replace", "/box/a/text", "Two.")),
    )
    assert (at(made, "/box/b").plain(), at(made, "/box/b/text").origin.sequence) == ({"text": "One."}, 2)


def test_a_deleted_document_has_no_values_and_a_new_one_new_origins() -> None:
    made = origins_of(record(2, op("remove", "")))
    assert made.content is None
    made.take(record(3, op("add", "", EMPTY)))
    assert made.content is not None
    assert made.content.origin.sequence == 3


def test_a_confirmation_without_a_source_is_none_and_one_with_a_source_is_one() -> None:
    item = {"id": "p1", "proposed_by": "svc-a", "proposed_at": "t2", "target": {"op": "add", "value": {"text": "A."}}}
    for evidence, expected in (({"pending_id": "p1"}, [2]), ({"conversation_id": "c2"}, [3, 2])):
        made = origins_of(
            record(2, op("add", "/notes/-", item), evidence={"conversation_id": "c1"}),
            record(
                3,
                op("remove", "/notes/0"),
                op("add", "/facts/-", {"text": "A."}),
                reason="confirmation",
                evidence=evidence,
            ),
        )
        assert [one.sequence for one in at(made, "/facts/0/text").sources()] == expected
        assert at(made, "/facts/0/text").origin.sequence == 3


def test_a_patch_that_removes_a_proposal_and_writes_it_rests_on_the_proposal() -> None:
    item = {"id": "p1", "proposed_by": "svc-a", "target": {"op": "add", "value": {"id": "f1", "text": "A."}}}
    fact = {"id": "f1", "text": "A.", "confidence": 0.9}
    for ops in ([op("remove", "/notes/0"), op("add", "/facts/-", fact)],) * 2:
        made = origins_of(record(2, op("add", "/notes/-", item)), record(3, *ops))
        assert [one.sequence for one in at(made, "/facts/0/text").sources()] == [3, 2]
        ops.reverse()


def test_a_stale_entry_that_returns_and_is_confirmed_rests_on_who_said_it() -> None:
    fact = {"id": "f1", "text": "A."}
    item = {"id": "p1", "proposed_by": "svc-upkeep", "target": {"op": "add", "value": fact}}
    made = origins_of(
        record(2, op("add", "/facts/-", fact), evidence={"conversation_id": "c1"}),
        record(3, op("remove", "/facts/0"), op("add", "/notes/-", item), reason="freshness"),
    )
    waits = at(made, "/notes/0/target/value/text")
    assert (waits.origin.sequence, [one.sequence for one in waits.sources()]) == (3, [2])
    made.take(record(4, op("remove", "/notes/0"), op("add", "/facts/-", fact), reason="confirmation"))
    assert [one.sequence for one in at(made, "/facts/0/text").sources()] == [2]


def test_more_evidence_for_an_entry_is_a_further_source_of_everything_in_it() -> None:
    fact = {"id": "f1", "text": "A.", "evidence": {"conversation_id": "c1"}}
    both = {"conversation_id": "c1", "also": [{"conversation_id": "c2"}]}
    change = op("replace", "/facts/0/evidence", both)
    for evidence, expected in (({"conversation_id": "c2"}, [2, 3]), (None, [2])):
        made = origins_of(record(2, op("add", "/facts/-", fact)), record(3, change, evidence=evidence))
        assert [one.sequence for one in at(made, "/facts/0/text").sources()] == expected
        assert at(made, "/facts/0/evidence/also/0").origin.sequence == 3


def test_upkeep_carries_what_it_writes_again_and_merged_entries_are_sources() -> None:
    one, other = {"text": "A.", "evidence": {"conversation_id": "c1"}}, {"text": "a", "evidence": {"event_id": "e1"}}
    joint = one | {"evidence": {"conversation_id": "c1", "also": [{"event_id": "e1"}]}}
    rows = [{"from": ["/content/facts/1"], "into": "/content/facts/0"}]
    before = [record(2, op("add", "/facts/-", one)), record(3, op("add", "/facts/-", other))]
    for ops in ([op("replace", "/facts/0", joint), op("remove", "/facts/1")], [op("replace", "/facts", [joint])]):
        made = origins_of(*before, record(4, *ops, reason="compaction", evidence={"merged": rows}))
        text = at(made, "/facts/0/text")
        assert (text.origin.sequence, [found.sequence for found in text.sources()]) == (2, [2, 3])
        # No client can send such rows: a change of another reason merges nothing.
        live = origins_of(*before, record(4, *ops, evidence={"merged": rows}))
        assert [found.sequence for found in at(live, "/facts/0/text").sources()] == [2]


def test_what_a_retraction_puts_back_has_the_origins_that_it_had() -> None:
    made = origins_of(record(2, op("add", "/notes/-", "A."), evidence={"conversation_id": "c1"}))
    made.take(record(3, op("replace", "/notes/0", "B.")))
    (had,) = at(made, "/notes/0").before()
    content, ops = at(made, "").plain(), [op("replace", "/notes/0", "A.")]
    back = restored(content, ops, [had])
    # The baseline keeps no values before: the row alone says where the value comes from.
    shortened = Origins(load_origins(dump_origins(at(made, "")), content), sequence=3)
    taken = record(4, *ops, reason="retraction", evidence={"retraction_id": "r1", "restored": back})
    for origins in (made, shortened):
        origins.take(taken)
        node = at(origins, "/notes/0")
        assert (node.origin.sequence, node.value, list(node.before())) == (2, "A.", [])
        assert not origins.knows_before(node)
    # No client can send such rows: in a change of another reason they mean nothing.
    live = Origins(load_origins(dump_origins(at(made, "")), content), sequence=3)
    live.take(taken | {"reason": "live_update", "ops": [op("replace", "/notes/0", "C.")]})
    assert at(live, "/notes/0").origin.sequence == 4


def test_the_further_sources_and_the_values_before_are_bounded() -> None:
    made = origins_of(record(2, op("add", "/box/a", "A."), op("add", "/box/b", "0")))
    for number in range(3, 103):
        again = op("replace", "/box/a", "A."), op("replace", "/box/b", str(number))
        made.take(record(number, *again, evidence={"conversation_id": f"c{number}"}))
    said = [source.origin.sequence for source in at(made, "/box/a").further]
    assert (len(said), said[0], said[1], said[-1]) == (MAX_SOURCES, 3, 104 - MAX_SOURCES, 102)
    before = [earlier.value for earlier in at(made, "/box/b").before()]
    assert before == [str(number) for number in range(101, 101 - MAX_BEFORE, -1)]


def test_another_entry_in_the_place_of_one_is_new_and_the_same_evidence_counts_once() -> None:
    said = {"conversation_id": "c2"}
    first, second = {"id": "f1", "text": "A.", "confidence": 0.9}, {"id": "f2", "text": "B.", "confidence": 0.9}
    made = origins_of(
        record(2, op("add", "/facts/-", first)), record(3, op("replace", "/facts/0", second), evidence=said)
    )
    entry = at(made, "/facts/0")
    assert {node.origin.sequence for _, node in entry.nodes()} == {3}
    assert [earlier.plain() for earlier in entry.before()] == [first]
    for number in (4, 5):
        made.take(record(number, op("replace", "/facts/0/text", "B."), evidence={"conversation_id": "c3"}, actor="a"))
    assert [one.sequence for one in at(made, "/facts/0/text").sources()] == [3, 4]


def test_a_copied_value_rests_on_who_wrote_it_and_names_who_copied_it() -> None:
    made = origins_of(
        record(2, op("add", "/box/a", "A."), evidence={"conversation_id": "c1"}),
        record(3, op("copy", "/box/b", **{"from": "/content/box/a"})),
    )
    node = at(made, "/box/b")
    assert (node.origin.sequence, [one.sequence for one in node.sources()]) == (2, [2])
    assert [(source.kind, source.origin.sequence) for source in node.further] == [("copied", 3)]


def test_a_migration_keeps_the_origins_of_what_it_gives_another_place() -> None:
    said = record(2, op("add", "/facts/-", {"id": "f1", "text": "A."}), evidence={"conversation_id": "c1"})
    named = record(3, op("add", "/box/name", "Ada"), op("add", "/box/age", 7), evidence={"conversation_id": "c2"})
    content = {"people": [{"id": "f1", "text": "A."}], "box": {"owner": {"called": "Ada"}, "years": 7, "kind": "old"}}
    moves = [
        *(op("remove", place) for place in ("/facts", "/notes", "/box/name", "/box/age")),
        op("add", "/people", content["people"]),
        op("replace", "/box", content["box"]),
    ]
    for ops in ([op("replace", "", content)], moves):
        made = origins_of(said, named, record(4, *ops, reason="admin_migration"))
        found = {path: at(made, path).origin.sequence for path in ("/people/0", "/people/0/text", "/box/owner/called")}
        assert found == {"/people/0": 2, "/people/0/text": 2, "/box/owner/called": 3}
        # It made the object and the text that were not there; that an equal number is the same one is not known.
        assert [at(made, path).origin.sequence for path in ("/box/owner", "/box/kind", "/box/years")] == [4, 4, 4]
        live = origins_of(said, named, record(4, *ops))
        assert at(live, "/people/0").origin.sequence == 4


def test_a_conversation_that_writes_again_and_again_does_not_hide_what_another_one_said() -> None:
    made = origins_of(
        record(2, op("add", "/box/a", "A."), op("add", "/box/b", "clean"), evidence={"conversation_id": "good"}),
        record(3, op("replace", "/box/a", "A."), evidence={"conversation_id": "better"}),
    )
    for number in range(4, 104):
        again = op("replace", "/box/a", "A."), op("replace", "/box/b", str(number))
        made.take(record(number, *again, evidence={"conversation_id": "bad", "message_ids": [f"m{number}"]}))
    said = [source.origin.sequence for source in at(made, "/box/a").further]
    assert (len(said), said[0], said[-1]) == (MAX_SOURCES, 3, 103)
    before = [earlier.value for earlier in at(made, "/box/b").before()]
    assert (len(before), before[0], before[-1]) == (MAX_BEFORE, "102", "clean")
    # The first further source is kept in any case; a later one of another conversation is, too.
    made.take(record(104, op("replace", "/box/a", "A."), evidence={"conversation_id": "late"}))
    for number in range(105, 130):
        evidence = {"conversation_id": "bad", "message_ids": [f"m{number}"]}
        made.take(record(number, op("replace", "/box/a", "A."), evidence=evidence))
    assert {3, 104} <= {source.origin.sequence for source in at(made, "/box/a").further}


def test_a_migration_keeps_the_origin_of_a_text_in_whose_place_it_puts_another_value() -> None:
    said = record(2, op("add", "/box/title", "A."), op("add", "/box/text", "B."), evidence={"conversation_id": "c1"})
    titled = record(3, op("replace", "/box/title", "C."), evidence={"conversation_id": "c2"})
    for box, places in (
        ({"title": "B.", "text": "C."}, {"/box/title": (2, 1), "/box/text": (3, 0)}),
        ({"title": {"text": "C."}, "text": "new"}, {"/box/title/text": (3, 0), "/box/title": (4, 0)}),
    ):
        made = origins_of(said, titled, record(4, op("add", "", {**EMPTY, "box": box}), reason="admin_migration"))
        assert {path: at(made, path).origin.key for path in places} == places
    # The values before belong to the operation, and not to the place.
    swapped = record(4, op("replace", "/box", {"title": "B.", "text": "C."}), reason="admin_migration")
    made = origins_of(said, titled, swapped)
    assert [[one.value for one in at(made, path).before()] for path in ("/box/title", "/box/text")] == [[], ["A."]]


def test_which_of_two_equal_values_a_migration_keeps_does_not_depend_on_where_reading_begins() -> None:
    made = origins_of(record(2, op("add", "/box/z", "A.")), record(3, op("add", "/box/a", "A.")))
    content = at(made, "").plain()
    begun = Origins(load_origins(dump_origins(at(made, "")), json.loads(canonical(content))), sequence=3)
    for origins in (made, begun):
        origins.take(record(4, op("add", "", {"other": "A."}), reason="admin_migration"))
        assert at(origins, "/other").origin.sequence == 3


def test_the_values_before_a_copied_value_are_not_known() -> None:
    made = origins_of(
        record(2, op("add", "/box/a", "A."), op("add", "/box/b", "old")),
        record(3, op("replace", "/box/a", "B.")),
        record(4, op("copy", "/box/b", **{"from": "/content/box/a"})),
    )
    assert [made.knows_before(at(made, path)) for path in ("/box/a", "/box/b")] == [True, False]
    made.take(record(5, op("replace", "/box/b", "C.")))
    assert made.knows_before(at(made, "/box/b"))
    assert [one.value for one in at(made, "/box/b").before()] == ["B."]
