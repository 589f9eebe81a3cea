"""What becomes of a patch of an array when the document has moved on: (name, ops, base, theirs, expected).

Expected is either (operations for theirs, indices that are there already, content after them) or the conflict
(op_index, path, why, base, theirs).
"""

from typing import Any

from memnet.domain.documents.rebase import ABSENT, ConflictCause

TEA, COFFEE = "Likes tea.", "Likes coffee."
F1, F2, F3 = ({"id": f"f{n}", "text": f"Fact {n}."} for n in (1, 2, 3))
E1, E2 = ({"conversation_id": f"c{n}", "message_ids": ["m1"]} for n in (1, 2))
BOTH = E1 | {"also": [E2]}
LONG = {"conversation_id": "c" * 8170}
SAID = {"id": "s", "text": TEA, "evidence": E1}
F2_EDITED = F2 | {"text": "Fact two, edited."}


def add(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def replace(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


def remove(path: str) -> dict[str, Any]:
    return {"op": "remove", "path": path}


def holds(path: str, value: Any) -> dict[str, Any]:
    return {"op": "test", "path": path, "value": value}


def copy(source: str, path: str) -> dict[str, Any]:
    return {"op": "copy", "from": source, "path": path}


def move(source: str, path: str) -> dict[str, Any]:
    return {"op": "move", "from": source, "path": path}


def unchanged(name: str, ops: list[Any], base: Any, theirs: Any, after: Any) -> tuple[Any, ...]:
    """The very operations that were proposed do."""
    return name, ops, base, theirs, (ops, (), after)


def there(name: str, ops: list[Any], base: Any, theirs: Any) -> tuple[Any, ...]:
    """Nothing is left to do."""
    return name, ops, base, theirs, ([], tuple(range(len(ops))), theirs)


END = "/content/a/-"

APPENDS = [
    unchanged("to what grew", [add(END, 3)], {"a": [1]}, {"a": [1, 2]}, {"a": [1, 2, 3]}),
    unchanged("after its like was removed", [add(END, TEA)], {"a": [TEA]}, {"a": []}, {"a": [TEA]}),
    unchanged("other texts stay apart", [add(END, "C++")], {"a": []}, {"a": ["C#"]}, {"a": ["C#", "C++"]}),
    unchanged("true is not 1", [add(END, True)], {"a": []}, {"a": [1, 1.0]}, {"a": [1, 1.0, True]}),
    unchanged("null is an item", [add(END, None)], {"a": []}, {"a": [0]}, {"a": [0, None]}),
    unchanged("emptiness says nothing", [add(END, " ")], {"a": []}, {"a": [""]}, {"a": ["", " "]}),
    (
        "by an index at the end",
        [add("/content/a/1", 3)],
        {"a": [1]},
        {"a": [1, 2]},
        ([add(END, 3)], (), {"a": [1, 2, 3]}),
    ),
    there("the same item", [add(END, 3)], {"a": [1]}, {"a": [3, 1]}),
    there("the same text", [add(END, "LIKES  tea!")], {"a": []}, {"a": [TEA]}),
    there("the same text under another id", [add(END, F1)], {"a": []}, {"a": [F1 | {"id": "zz"}]}),
    there("the same id and text", [add(END, F1)], {"a": []}, {"a": [F1 | {"text": "fact 1", "confidence": 0.5}]}),
    there("twice", [add(END, TEA), add(END, TEA)], {"a": []}, {"a": [TEA, TEA]}),
    (
        "one of two is there",
        [add(END, TEA), add(END, COFFEE)],
        {"a": []},
        {"a": [TEA]},
        ([add(END, COFFEE)], (0,), {"a": [TEA, COFFEE]}),
    ),
    (
        "an id that means something else now",
        [add(END, F2)],
        {"a": []},
        {"a": [F2_EDITED]},
        (0, END, ConflictCause.CHANGED, ABSENT, F2_EDITED),
    ),
    (
        "an id that meant two things before",
        [add(END, F2)],
        {"a": [F2_EDITED]},
        {"a": [F1, F2_EDITED]},
        ([add(END, F2)], (), {"a": [F1, F2_EDITED, F2]}),
    ),
    (
        "another source of what is there",
        [add(END, SAID | {"evidence": E2})],
        {"a": []},
        {"a": [F1, SAID]},
        ([add("/content/a/1/evidence", BOTH)], (), {"a": [F1, SAID | {"evidence": BOTH}]}),
    ),
    (
        "another source under another id, surer and later",
        [add(END, SAID | {"id": "o", "text": "likes TEA", "confidence": 1, "last_verified_at": "x", "evidence": E2})],
        {"a": [SAID]},
        {"a": [SAID, F1]},
        ([add("/content/a/0/evidence", BOTH)], (), {"a": [SAID | {"evidence": BOTH}, F1]}),
    ),
    there("a source that is there", [add(END, SAID)], {"a": []}, {"a": [SAID | {"evidence": BOTH}]}),
    there("a source that was there", [add(END, SAID)], {"a": [SAID]}, {"a": [SAID]}),
    ("a source of a text", [add(END, SAID)], {"a": []}, {"a": [TEA]}, (0, END, ConflictCause.CHANGED, ABSENT, TEA)),
    (
        "a source of what is gone",
        [add(END, SAID)],
        {"a": [SAID]},
        {"a": []},
        (0, "/content/a/0", ConflictCause.GONE, SAID, ABSENT),
    ),
    (
        "more sources than evidence may name",
        [add(END, SAID | {"evidence": LONG})],
        {"a": []},
        {"a": [SAID]},
        (0, END, ConflictCause.CHANGED, ABSENT, SAID),
    ),
    (
        "the same with another expiry",
        [add(END, SAID | {"expires_at": "2027-01-01"})],
        {"a": []},
        {"a": [SAID | {"expires_at": "2026-01-01"}]},
        (0, END, ConflictCause.CHANGED, ABSENT, SAID | {"expires_at": "2026-01-01"}),
    ),
    there("the text of an entry", [add(END, TEA)], {"a": []}, {"a": [SAID | {"x": 1}]}),
    (
        "copied to where another source is",
        [copy("/content/b/0", END)],
        {"a": [], "b": [SAID]},
        {"a": [SAID | {"evidence": E2}], "b": [SAID]},
        (0, END, ConflictCause.CHANGED, ABSENT, SAID | {"evidence": E2}),
    ),
    ("the array is gone", [add(END, 3)], {"a": [1]}, {}, (0, "/content/a", ConflictCause.GONE, [1], ABSENT)),
    (
        "the array is an object now",
        [add(END, 3)],
        {"a": []},
        {"a": {}},
        (0, "/content/a", ConflictCause.CHANGED, [], {}),
    ),
]

AT = "/content/a/1"
THREE = {"a": [F1, F2, F3]}
NOTE_1, NOTE_2 = {"note_id": 1, "user_id": "u", "text": "x"}, {"note_id": 2, "user_id": "u", "text": "x"}

INDICES = [
    (
        "replace",
        [replace(AT, 9)],
        {"a": [1, 2]},
        {"a": [0, 1, 2]},
        ([replace("/content/a/2", 9)], (), {"a": [0, 1, 9]}),
    ),
    ("remove", [remove(AT)], {"a": [1, 2]}, {"a": [2]}, ([remove("/content/a/0")], (), {"a": []})),
    (
        "below an element by its id",
        [replace(AT + "/text", "new")],
        THREE,
        {"a": [F3, F2 | {"seen": 1}]},
        ([replace(AT + "/text", "new")], (), {"a": [F3, F2 | {"seen": 1, "text": "new"}]}),
    ),
    (
        "an array in an element of an array",
        [replace("/content/a/0/b/0", 9)],
        {"a": [{"id": 1, "b": [1, 2]}]},
        {"a": [{"id": 2, "b": [1, 2]}, {"id": 1, "b": [2, 1]}]},
        ([replace("/content/a/1/b/1", 9)], (), {"a": [{"id": 2, "b": [1, 2]}, {"id": 1, "b": [2, 9]}]}),
    ),
    (
        "the one of several ids that distinguishes the elements",
        [replace("/content/a/0/text", "new")],
        {"a": [NOTE_1, NOTE_2]},
        {"a": [NOTE_2, NOTE_1 | {"seen": 1}]},
        ([replace("/content/a/1/text", "new")], (), {"a": [NOTE_2, NOTE_1 | {"seen": 1, "text": "new"}]}),
    ),
    (
        "an id that was unique by chance does not count",
        [replace("/content/a/0/text", "new")],
        {"a": [NOTE_1]},
        {"a": [NOTE_2, NOTE_1 | {"seen": 1}]},
        ([replace("/content/a/1/text", "new")], (), {"a": [NOTE_2, NOTE_1 | {"seen": 1, "text": "new"}]}),
    ),
    (
        "what an operation before appended",
        [add(END, {"id": "n"}), add(AT + "/x", 1)],
        {"a": [1]},
        {"a": []},
        ([add(END, {"id": "n"}), add("/content/a/0/x", 1)], (), {"a": [{"id": "n", "x": 1}]}),
    ),
    (
        "what is there already, touched again",
        [add(END, {"id": "n"}), add(AT + "/x", 1)],
        {"a": [1]},
        {"a": [{"id": "n"}, 1]},
        ([add("/content/a/0/x", 1)], (0,), {"a": [{"id": "n", "x": 1}, 1]}),
    ),
    unchanged("equal arrays, equal places", [remove(AT)], {"a": [1, 1]}, {"a": [1, 1], "b": 0}, {"a": [1], "b": 0}),
    there("replaced alike", [replace(AT, F2_EDITED)], THREE, {"a": [F2_EDITED, F1, F3]}),
    there("replaced alike below", [replace(AT + "/text", F2_EDITED["text"])], THREE, {"a": [F2_EDITED]}),
    there("removed", [remove(AT)], THREE, {"a": [F1, F3]}),
    there("removed with what it was in", [remove(AT + "/text")], THREE, {"a": [F1]}),
    (
        "changed below",
        [replace(AT + "/text", "new")],
        THREE,
        {"a": [F2_EDITED]},
        (0, AT + "/text", ConflictCause.CHANGED, F2["text"], F2_EDITED["text"]),
    ),
    ("changed", [replace(AT, 9)], THREE, {"a": [F1, F2_EDITED]}, (0, AT, ConflictCause.CHANGED, F2, F2_EDITED)),
    ("gone", [replace(AT, 9)], THREE, {"a": [F1]}, (0, AT, ConflictCause.GONE, F2, ABSENT)),
    ("gone without id", [replace(AT, 9)], {"a": [1, 2]}, {"a": [1]}, (0, AT, ConflictCause.GONE, 2, ABSENT)),
    (
        "gone, and what was to be its value was there before",
        [replace("/content/a/0", 2)],
        {"a": [1, 2]},
        {"a": [2]},
        (0, "/content/a/0", ConflictCause.GONE, 1, ABSENT),
    ),
    ("edited or removed", [remove(AT)], {"a": [1, 2]}, {"a": [1, 3]}, (0, AT, ConflictCause.AMBIGUOUS, 2, [1, 3])),
    ("a double before", [remove(AT)], {"a": [1, 1]}, {"a": [1]}, (0, AT, ConflictCause.AMBIGUOUS, 1, [1])),
    ("a double since", [remove(AT)], {"a": [2, 1]}, {"a": [1, 1, 2]}, (0, AT, ConflictCause.AMBIGUOUS, 1, [1, 1, 2])),
    (
        "an id that occurs twice",
        [add(AT + "/x", 1)],
        THREE,
        {"a": [F2_EDITED, F2 | {"x": 2}]},
        (0, AT, ConflictCause.AMBIGUOUS, F2, [F2_EDITED, F2 | {"x": 2}]),
    ),
    (
        "no id: it only ends like one",
        [add("/content/a/0/x", 1)],
        {"a": [{"paid": 1}]},
        {"a": [{"paid": 1, "y": 2}]},
        (0, "/content/a/0", ConflictCause.AMBIGUOUS, {"paid": 1}, [{"paid": 1, "y": 2}]),
    ),
    (
        "no id: two had it, one is left",
        [add(AT + "/x", 1)],
        {"a": [F1, F1 | {"y": 1}]},
        {"a": [F1 | {"y": 2}]},
        (0, AT, ConflictCause.AMBIGUOUS, F1 | {"y": 1}, [F1 | {"y": 2}]),
    ),
]

INSERTS = [
    (
        "before its neighbour",
        [add(AT, 9)],
        {"a": [1, 2]},
        {"a": [0, 1, 5, 2]},
        ([add("/content/a/3", 9)], (), {"a": [0, 1, 5, 9, 2]}),
    ),
    (
        "before its neighbour, edited",
        [add(AT, 9)],
        THREE,
        {"a": [F3, F2_EDITED]},
        ([add(AT, 9)], (), {"a": [F3, 9, F2_EDITED]}),
    ),
    (
        "behind the one before it",
        [add(AT, 9)],
        {"a": [1, 2]},
        {"a": [5, 1, 6]},
        ([add("/content/a/2", 9)], (), {"a": [5, 1, 9, 6]}),
    ),
    unchanged("first", [add("/content/a/0", 9)], {"a": [1]}, {"a": [3]}, {"a": [9, 3]}),
    ("into nothing", [add("/content/a/0", 9)], {"a": []}, {"a": [3]}, ([add(END, 9)], (), {"a": [3, 9]})),
    there("already", [add(AT, 9)], {"a": [1, 2]}, {"a": [9]}),
    ("no neighbour left", [add(AT, 9)], {"a": [1, 2]}, {"a": [3]}, (0, AT, ConflictCause.AMBIGUOUS, [1, 2], [3])),
]
