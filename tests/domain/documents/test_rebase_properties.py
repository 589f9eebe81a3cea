"""What holds of every patch that is carried over, whatever the document and whatever others did to it."""

import copy
from collections import Counter
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.json_patch import Op, apply, pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.documents.array_matching import count_items
from memnet.domain.documents.entry import covers
from memnet.domain.documents.rebase import ABSENT, RebaseConflict, Rebased, rebase

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(0, 3), st.sampled_from(["", "x", "X!", "Likes tea.", "likes tea"])
)
NAMES = st.sampled_from(["a", "b", "0", "1", "-", "", "~/", "text"])
IDS = st.integers(1, 4)


def identified(values: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """Arrays of objects with ids, mostly unique."""
    entry = st.builds(lambda own, members: {**members, "id": own}, IDS, st.dictionaries(NAMES, values, max_size=2))
    return st.lists(entry, max_size=4) | st.lists(entry, max_size=4, unique_by=lambda item: str(item["id"]))


VALUES = st.recursive(
    SCALARS,
    lambda deeper: st.one_of(
        st.lists(deeper, max_size=4), identified(deeper), st.dictionaries(NAMES, deeper, max_size=3)
    ),
    max_leaves=12,
)
CONTENTS = st.dictionaries(NAMES, VALUES, min_size=1, max_size=3)


def state(content: Json) -> Json:
    return {"content": copy.deepcopy(content)}


def applied(ops: list[Op], content: Json) -> Json:
    """The content after `ops`; ABSENT if they took it away."""
    after = apply(state(content), copy.deepcopy(ops))
    return after.get("content", ABSENT)


def places(value: Json, at: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every place below `value`."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for name, child in inner for place in [(*at, str(name)), *places(child, (*at, str(name)))]]


def targets(value: Json, at: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every place at which something can be added."""
    if isinstance(value, list):
        own = [(*at, str(index)) for index in range(len(value) + 1)] + [(*at, "-")]
        return own + [place for index, child in enumerate(value) for place in targets(child, (*at, str(index)))]
    if isinstance(value, dict):
        own = [(*at, "new"), (*at, "a")]
        return own + [place for name, child in value.items() for place in [(*at, name), *targets(child, (*at, name))]]
    return []


@st.composite
def an_operation(draw: st.DrawFn, content: Json) -> Op:
    """One operation that applies to `content`."""
    existing, new = places(content, ("content",)), targets(content, ("content",))
    verb = draw(st.sampled_from(["add", "add", "replace", "remove", "test", "copy", "move"] if existing else ["add"]))
    if verb == "add":
        return {"op": verb, "path": pointer_text(draw(st.sampled_from(new))), "value": draw(VALUES)}
    source = draw(st.sampled_from(existing))
    if verb == "replace":
        return {"op": verb, "path": pointer_text(source), "value": draw(VALUES)}
    if verb == "test":
        found: Json = {"content": content}
        for name in source:
            found = found[int(name)] if isinstance(found, list) else found[name]
        return {"op": verb, "path": pointer_text(source), "value": copy.deepcopy(found)}
    if verb == "remove":
        return {"op": verb, "path": pointer_text(source)}
    rest = content
    if verb == "move":
        rest = apply(state(content), [{"op": "remove", "path": pointer_text(source)}])["content"]
    target = draw(st.sampled_from(targets(rest, ("content",))))
    if verb == "move" and target[: len(source)] == source:
        return {"op": "move", "from": pointer_text(source), "path": pointer_text(source)}
    return {"op": verb, "from": pointer_text(source), "path": pointer_text(target)}


@st.composite
def a_patch(draw: st.DrawFn, content: Json, *, max_size: int = 4) -> list[Op]:
    """Operations that apply to `content`, one after the other."""
    ops: list[Op] = []
    for _ in range(draw(st.integers(0, max_size))):
        ops.append(draw(an_operation(content)))
        content = applied(ops[-1:], content)
    return ops


@given(st.data())
def test_where_nothing_changed_the_effect_is_the_same(data: st.DataObject) -> None:
    base = data.draw(CONTENTS)
    ops = data.draw(a_patch(base))
    outcome = rebase(ops, base, copy.deepcopy(base))
    assert isinstance(outcome, Rebased)
    assert canonical(applied(outcome.ops, base)) == canonical(applied(ops, base))


@given(st.data())
def test_what_is_carried_over_applies_and_nothing_given_is_changed(data: st.DataObject) -> None:
    base = data.draw(CONTENTS)
    ops = data.draw(a_patch(base))
    theirs = applied(data.draw(a_patch(base)), base) if data.draw(st.booleans()) else data.draw(CONTENTS)
    given_bytes = canonical([ops, base, theirs])
    outcome = rebase(ops, base, theirs)
    assert canonical([ops, base, theirs]) == given_bytes
    if isinstance(outcome, RebaseConflict):
        assert 0 <= outcome.op_index < len(ops)
    else:
        applied(outcome.ops, theirs)
        assert len(outcome.ops) + len(outcome.already_there) == len(ops)


@given(st.data())
def test_no_value_of_theirs_is_overwritten(data: st.DataObject) -> None:
    base = data.draw(CONTENTS)
    op = data.draw(an_operation(base))
    theirs = applied(data.draw(a_patch(base)), base) if data.draw(st.booleans()) else data.draw(CONTENTS)
    outcome = rebase([op], base, theirs)
    if isinstance(outcome, Rebased):
        assert lost(base, theirs, applied(outcome.ops, theirs)) == []


def lost(base: Json, theirs: Json, after: Json) -> list[Json]:
    """The values of `theirs` that are not in `base` and not in `after` either."""
    if theirs is ABSENT or (base is not ABSENT and canonical(base) == canonical(theirs)):
        return []
    if isinstance(theirs, dict) and isinstance(after, dict):
        was = base if isinstance(base, dict) else {}
        names = [(was.get(name, ABSENT), theirs[name], after.get(name, ABSENT)) for name in theirs]
        return [value for triple in names for value in lost(*triple)]
    if isinstance(theirs, list) and isinstance(after, list):
        return lost_items(base if isinstance(base, list) else [], theirs, after)
    return [] if after is not ABSENT and canonical(theirs) == canonical(after) else [theirs]


def lost_items(base: list[Json], theirs: list[Json], after: list[Json]) -> list[Json]:
    """Elements of `theirs` that are new or changed, and that `after` has neither as they are nor with more in them."""
    had, has = Counter(map(canonical, base)), Counter(map(canonical, after))
    rest = Counter(map(canonical, theirs)) - had - has
    missing = [item for item in theirs if rest[canonical(item)]]
    made = [other for other in after if other not in theirs]
    return [item for item in missing if not any(grew(item, base, other) for other in made)]


def grew(item: Json, base: list[Json], other: Json) -> bool:
    """Whether `other` can be `item` with a part changed that `item` has as an element of `base` had it."""
    if not isinstance(item, dict) or not isinstance(other, dict):
        return False
    return any(
        lost(was, item, other) == [] for was in base if isinstance(was, dict) and was.get("id") == item.get("id")
    )


# Two editors of a section whose entries have ids, and of one whose entries are texts.


@dataclass(frozen=True)
class Edit:
    """What an editor means to do; `entry` is the id of the entry it is about."""

    verb: str
    entry: int
    value: str


EDITS = st.builds(
    Edit, st.sampled_from(["change", "annotate", "remove", "put"]), st.integers(0, 7), st.sampled_from("pqr")
)
ADDED = st.lists(st.text("abcdefg", min_size=3, max_size=3), max_size=4, unique=True)


def entries() -> list[Json]:
    return [{"id": n, "text": f"Entry {n}.", "tags": {"seen": n}} for n in range(8)]


def as_ops(edits: list[Edit], content: Json) -> list[Op]:
    """The operations that do it to `content`, each addressed by the index at which its entry is by then."""
    ids = [item["id"] for item in content["facts"]]
    ops: list[Op] = []
    for edit in edits:
        at = f"/content/facts/{ids.index(edit.entry)}"
        if edit.verb == "change":
            ops.append({"op": "replace", "path": f"{at}/text", "value": edit.value})
        elif edit.verb == "annotate":
            ops.append({"op": "add", "path": f"{at}/tags/{edit.value}", "value": 1})
        elif edit.verb == "put":
            ops.append({"op": "replace", "path": at, "value": {"id": edit.entry, "text": edit.value}})
        else:
            ops.append({"op": "remove", "path": at})
            ids.remove(edit.entry)
    return ops


def unique(edits: list[Edit]) -> list[Edit]:
    return list({edit.entry: edit for edit in edits}.values())


def additions(texts: list[str], who: str, *, front: bool) -> list[Op]:
    facts = [{"id": f"{who}-{text}", "text": text} for text in texts]
    at = "0" if front else "-"
    added = [("facts", fact) for fact in facts] + [("notes", text) for text in texts]
    return [{"op": "add", "path": f"/content/{section}/{at}", "value": value} for section, value in added]


@st.composite
def two_editors(draw: st.DrawFn) -> tuple[Json, list[Edit], list[Edit], list[str], list[str]]:
    """A content, both editors' changes of entries, and what both add."""
    content = {"facts": draw(st.permutations(entries())), "notes": ["one", "two"]}
    ours, theirs = (unique(draw(st.lists(EDITS, max_size=4))) for _ in range(2))
    return content, ours, theirs, draw(ADDED), draw(ADDED)


@given(two_editors(), st.booleans(), st.booleans())
def test_two_editors_of_other_entries_never_conflict_and_all_that_they_did_is_there(
    editors: tuple[Json, list[Edit], list[Edit], list[str], list[str]], our_front: bool, their_front: bool
) -> None:
    base, ours, theirs, our_texts, their_texts = editors
    ours = [edit for edit in ours if edit.entry not in {other.entry for other in theirs}]
    our_ops = as_ops(ours, base) + additions(our_texts, "us", front=our_front)
    now = applied(as_ops(theirs, base) + additions(their_texts, "they", front=their_front), base)
    outcome = rebase(our_ops, base, now)
    assert isinstance(outcome, Rebased)
    after = applied(outcome.ops, now)

    named = {edit.entry for edit in ours}
    alone = applied(our_ops, base)
    by_id, mine = by_ids(after), by_ids(alone)
    assert {own: item for own, item in by_id.items() if own in named} == {o: i for o, i in mine.items() if o in named}
    left = {own: item for own, item in by_ids(now).items() if own not in named}
    assert {own: by_id.get(own) for own in left} == left
    order = [item["id"] for item in after["facts"] if item["id"] in left]
    assert order == [item["id"] for item in now["facts"] if item["id"] in left]
    for text in {*our_texts, *their_texts}:
        assert (count_items(text, after["facts"]), count_items(text, after["notes"])) == (1, 1)


def by_ids(content: Json) -> dict[Any, Json]:
    return {item["id"]: item for item in content["facts"]}


@given(two_editors())
def test_two_editors_of_the_same_part_conflict_unless_they_agree(
    editors: tuple[Json, list[Edit], list[Edit], list[str], list[str]],
) -> None:
    base, ours, theirs, _, _ = editors
    outcome = rebase(as_ops(ours, base), base, applied(as_ops(theirs, base), base))
    now = {edit.entry: edit for edit in theirs}
    expected = any(edit.entry in now and clash(edit, now[edit.entry]) for edit in ours)
    assert isinstance(outcome, RebaseConflict) is expected


def clash(mine: Edit, other: Edit) -> bool:
    """Whether two different things were meant to be done to one part of an entry."""
    if mine == other or mine.verb == other.verb == "remove":
        return False
    if {mine.verb, other.verb} == {"change", "annotate"} or mine.verb == other.verb == "annotate":
        return False
    # What changes an entry as a whole, or a part of what is gone or new, cannot go along with any other change; but
    # the text that is to be put may be the text that was put.
    return not (mine.verb == "change" and other.verb == "put" and mine.value == other.value)


# Entries that are stated again, by others in the meantime or before.

USUAL = SectionUpkeep(section="/facts")
SOURCES = st.integers(1, 3).map(lambda number: {"conversation_id": f"c{number}"})
STATED = st.builds(
    lambda own, text, source, more: {"id": own, "text": text} | ({"evidence": source} if source else {}) | more,
    st.sampled_from("klmn"),
    st.sampled_from(["Likes tea.", "likes TEA", "Likes coffee."]),
    st.none() | SOURCES,
    st.sampled_from([{}, {}, {"expires_at": "2026-01-01"}, {"expires_at": "2027-01-01"}, {"confidence": 0.5}]),
)


@given(st.lists(STATED | st.just("Likes tea."), max_size=4), st.data())
def test_no_added_entry_loses_anything_and_none_that_is_there_loses_a_source(
    had: list[Json], data: st.DataObject
) -> None:
    added = data.draw(st.lists(STATED, min_size=1, max_size=3))
    removed = data.draw(st.sets(st.integers(0, 3)))
    others = [item for at, item in enumerate(had) if at not in removed] + data.draw(st.lists(STATED, max_size=3))
    ops = [{"op": "add", "path": "/content/facts/-", "value": item} for item in added]
    outcome = rebase(ops, {"facts": had}, {"facts": others})
    if isinstance(outcome, RebaseConflict):
        return
    after = applied(outcome.ops, {"facts": others})["facts"]
    for item in added + others:
        assert any(covers(there, item, USUAL) for there in after)
    assert len(after) <= len(others) + len(added)
