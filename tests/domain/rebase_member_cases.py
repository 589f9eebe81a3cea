"""What becomes of a patch of members, or of a move, a copy or a test, when the document has moved on.

The cases have the form of those of arrays in rebase_cases.
"""

from memnet.domain.documents.rebase import ABSENT, ConflictCause
from tests.domain.rebase_cases import AT, END, TEA, add, copy, holds, move, remove, replace, there, unchanged

M = "/content/m"

MEMBERS = [
    unchanged("new", [add(M, 1)], {}, {"n": 2}, {"n": 2, "m": 1}),
    there("new, alike", [add(M, {"x": 1, "y": 2})], {}, {"m": {"y": 2, "x": 1}}),
    ("new, not alike", [add(M, 1)], {}, {"m": 2}, (0, M, ConflictCause.CHANGED, ABSENT, 2)),
    ("null before, absent now", [replace(M, 1)], {"m": None}, {}, (0, M, ConflictCause.GONE, None, ABSENT)),
    unchanged("add over a value", [add(M, 1)], {"m": 0}, {"m": 0, "n": 2}, {"m": 1, "n": 2}),
    ("add over a changed value", [add(M, 1)], {"m": 0}, {"m": 2}, (0, M, ConflictCause.CHANGED, 0, 2)),
    unchanged("replace", [replace(M, 1)], {"m": {"x": 1, "y": 2}}, {"m": {"y": 2, "x": 1}, "n": 0}, {"m": 1, "n": 0}),
    unchanged("remove", [remove(M)], {"m": 1}, {"m": 1, "n": 2}, {"n": 2}),
    there("remove what is gone", [remove(M)], {"m": 1}, {}),
    there("remove below what is gone", [remove(M + "/x")], {"m": {"x": 1}}, {}),
    ("remove what changed", [remove(M)], {"m": 1}, {"m": 2}, (0, M, ConflictCause.CHANGED, 1, 2)),
    ("add below what is a text now", [add(M + "/x", 1)], {"m": {}}, {"m": "x"}, (0, M, ConflictCause.CHANGED, {}, "x")),
    unchanged("- as a name", [add(M + "/-", 9)], {"m": {}}, {"m": {"x": 1}}, {"m": {"x": 1, "-": 9}}),
    unchanged("an empty name", [replace("/content//", 9)], {"": {"": 1}}, {"": {"": 1, "x": 2}}, {"": {"": 9, "x": 2}}),
    (
        "escaped names",
        [replace("/content/~0~1/0", 9)],
        {"~/": [1]},
        {"~/": [2, 1]},
        ([replace("/content/~0~1/1", 9)], (), {"~/": [2, 9]}),
    ),
    unchanged("all of it", [replace("/content", {"x": 1})], {"m": 1}, {"m": 1}, {"x": 1}),
    there("all of it, alike", [replace("/content", {"x": 1})], {"m": 1}, {"x": 1}),
    (
        "the whole state",
        [replace("", {"content": 0})],
        1,
        2,
        (0, "", ConflictCause.CHANGED, {"content": 1}, {"content": 2}),
    ),
    ("the whole state by add", [add("", {"content": 0})], 1, 0, ([], (0,), 0)),
]

A0, B, N = "/content/a/0", "/content/b", "/content/n"

CARRIED = [
    (
        "copy",
        [copy(A0, B + "/-")],
        {"a": [1], "b": []},
        {"a": [0, 1], "b": [2]},
        ([copy(AT, B + "/-")], (), {"a": [0, 1], "b": [2, 1]}),
    ),
    there("copy, alike", [copy(M, N)], {"m": 1}, {"m": 1, "n": 1}),
    ("copy of what changed", [copy(M, N)], {"m": 1}, {"m": 2}, (0, M, ConflictCause.CHANGED, 1, 2)),
    ("copy to what changed", [copy(M, N)], {"m": 1, "n": 0}, {"m": 1, "n": 2}, (0, N, ConflictCause.CHANGED, 0, 2)),
    unchanged(
        "copy of a copy",
        [copy(M, N), copy(N, "/content/o")],
        {"m": 1},
        {"m": 1, "x": 1},
        {"m": 1, "n": 1, "o": 1, "x": 1},
    ),
    (
        "move",
        [move(A0, B + "/-")],
        {"a": [1], "b": []},
        {"a": [0, 1], "b": [2]},
        ([move(AT, B + "/-")], (), {"a": [0], "b": [2, 1]}),
    ),
    (
        "move within an array",
        [move(A0, "/content/a/2")],
        {"a": [1, 2, 3, 4]},
        {"a": [0, 1, 2, 3, 4]},
        ([move(AT, "/content/a/3")], (), {"a": [0, 2, 3, 1, 4]}),
    ),
    unchanged("move to where it is", [move(M, M)], {"m": 1}, {"m": 1, "n": 2}, {"m": 1, "n": 2}),
    ("move of what changed to where it is", [move(M, M)], {"m": 1}, {"m": 2}, (0, M, ConflictCause.CHANGED, 1, 2)),
    there("moved", [move(M, N)], {"m": 1}, {"n": 1}),
    ("move of what is gone", [move(M, N)], {"m": 1}, {}, (0, M, ConflictCause.GONE, 1, ABSENT)),
    ("move to what is taken", [move(M, N)], {"m": 1}, {"m": 1, "n": 2}, (0, N, ConflictCause.CHANGED, ABSENT, 2)),
    ("move of what was copied", [move(M, N)], {"m": 1}, {"m": 1, "n": 1}, ([remove(M)], (), {"n": 1})),
    (
        "move of what was appended, much alike",
        [move(M, B + "/-")],
        {"m": TEA, "b": []},
        {"m": TEA, "b": ["likes tea"]},
        (0, B + "/-", ConflictCause.CHANGED, ABSENT, TEA),
    ),
    (
        "move up out of what it replaces",
        [move(M + "/x", M)],
        {"m": {"x": 1}},
        {"m": {"x": 1, "y": 2}},
        (0, M, ConflictCause.CHANGED, {}, {"y": 2}),
    ),
    (
        "test",
        [holds(A0, 1), add(END, 3)],
        {"a": [1]},
        {"a": [0, 1]},
        ([holds(AT, 1), add(END, 3)], (), {"a": [0, 1, 3]}),
    ),
    ("a test that fails", [holds(M, 1)], {"m": 1}, {"m": 2}, (0, M, ConflictCause.CHANGED, 1, 2)),
    ("a test of what is gone", [holds(M, None)], {"m": None}, {}, (0, M, ConflictCause.GONE, None, ABSENT)),
]
