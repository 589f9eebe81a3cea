"""What RFC 6902 and RFC 6901 ask, as (situation, document, operations, outcome).

An outcome is the patched document, or the error class and the index of the operation it is about.
"""

from typing import Any

from memnet.domain.core.errors import PatchMalformed, PatchNotApplicable, PatchTestFailed
from tests.domain.samples import op

MALFORMED, ABSENT, UNEQUAL = PatchMalformed, PatchNotApplicable, PatchTestFailed

Case = tuple[str, Any, Any, Any]

# What each operation does, after the situations of RFC 6902, appendix A.
OPERATIONS: list[Case] = [
    ("add a member", {"pet": "cat"}, [op("add", "/age", value=3)], {"pet": "cat", "age": 3}),
    ("add an element in between", {"q": ["n", "s"]}, [op("add", "/q/1", value="e")], {"q": ["n", "e", "s"]}),
    ("add an element in front", [1], [op("add", "/0", value=0)], [0, 1]),
    ("add behind the last by its index", {"q": ["n"]}, [op("add", "/q/1", value="s")], {"q": ["n", "s"]}),
    ("add to an empty array by index", {"q": []}, [op("add", "/q/0", value=None)], {"q": [None]}),
    ("append", {"q": ["n"]}, [op("add", "/q/-", value=["s", ["w"]])], {"q": ["n", ["s", ["w"]]]}),
    ("add in place of a member", {"a": {"b": 1}}, [op("add", "/a", value=[2])], {"a": [2]}),
    ("add a nested object", {"a": 1}, [op("add", "/b", value={"c": {"d": 2}})], {"a": 1, "b": {"c": {"d": 2}}}),
    ("add into a nested object", {"a": {"b": {}}}, [op("add", "/a/b/c", value=1)], {"a": {"b": {"c": 1}}}),
    ("add needs its parent", {"a": 1}, [op("add", "/b/c", value=2)], (ABSENT, 0)),
    ("add does not reach into a string", {"a": "text"}, [op("add", "/a/0", value="t")], (ABSENT, 0)),
    ("add does not reach into a number", {"a": 1}, [op("add", "/a/b", value=2)], (ABSENT, 0)),
    ("add a null", {}, [op("add", "/a", value=None)], {"a": None}),
    ("add a false", {}, [op("add", "/a", value=False)], {"a": False}),
    ("remove a member", {"a": 1, "b": 2}, [op("remove", "/b")], {"a": 1}),
    ("remove a null member", {"a": None}, [op("remove", "/a")], {}),
    ("remove an element", {"q": [1, 2, 3]}, [op("remove", "/q/1")], {"q": [1, 3]}),
    ("remove the only element", [7], [op("remove", "/0")], []),
    ("remove what is not there", {"a": 1}, [op("remove", "/b")], (ABSENT, 0)),
    ("remove below what is not there", {"a": 1}, [op("remove", "/b/c")], (ABSENT, 0)),
    ("remove twice", {"a": 1}, [op("remove", "/a"), op("remove", "/a")], (ABSENT, 1)),
    ("replace a member", {"a": 1}, [op("replace", "/a", value="x")], {"a": "x"}),
    ("replace an element", [1, 2], [op("replace", "/1", value=None)], [1, None]),
    ("replace by another type", {"a": [1]}, [op("replace", "/a", value={"b": 1})], {"a": {"b": 1}}),
    ("replace what is not there", {"a": 1}, [op("replace", "/b", value=2)], (ABSENT, 0)),
    ("replace below a scalar", {"a": True}, [op("replace", "/a/b", value=2)], (ABSENT, 0)),
    ("move a member", {"a": {"x": 1}, "b": {}}, [op("move", "/b/y", from_="/a/x")], {"a": {}, "b": {"y": 1}}),
    ("move an element back", [1, 2, 3, 4], [op("move", "/3", from_="/1")], [1, 3, 4, 2]),
    ("move an element to the front", [1, 2, 3], [op("move", "/0", from_="/2")], [3, 1, 2]),
    ("move to the end", [1, 2, 3], [op("move", "/-", from_="/0")], [2, 3, 1]),
    ("move beyond the shortened end", [1, 2, 3], [op("move", "/3", from_="/0")], (ABSENT, 0)),
    ("move over a member", {"a": 1, "b": 2}, [op("move", "/b", from_="/a")], {"b": 1}),
    ("move up out of its parent", {"a": {"b": {"c": 1}}}, [op("move", "/a", from_="/a/b")], {"a": {"c": 1}}),
    ("move onto itself", {"a": 1, "b": [1]}, [op("move", "/a", from_="/a")], {"a": 1, "b": [1]}),
    ("move what is not there onto itself", {"a": 1}, [op("move", "/x", from_="/x")], (ABSENT, 0)),
    ("move into its own child", {"a": {"b": 1}}, [op("move", "/a/b/c", from_="/a")], (MALFORMED, 0)),
    ("move the whole into a child", {"a": {}}, [op("move", "/a/b", from_="")], (MALFORMED, 0)),
    ("a longer name is no child", {"a": 1, "ab": {}}, [op("move", "/ab/x", from_="/a")], {"ab": {"x": 1}}),
    ("move from nowhere", {"a": 1}, [op("move", "/b", from_="/x")], (ABSENT, 0)),
    ("move from behind the end", [1], [op("move", "/0", from_="/-")], (ABSENT, 0)),
    ("move to nowhere", {"a": 1}, [op("move", "/x/y", from_="/a")], (ABSENT, 0)),
    ("copy a member", {"a": {"x": 1}}, [op("copy", "/b", from_="/a")], {"a": {"x": 1}, "b": {"x": 1}}),
    ("copy into its own child", {"a": {"x": 1}}, [op("copy", "/a/y", from_="/a")], {"a": {"x": 1, "y": {"x": 1}}}),
    ("copy an element", ["a", "b"], [op("copy", "/0", from_="/1")], ["b", "a", "b"]),
    ("copy from nowhere", {"a": 1}, [op("copy", "/b", from_="/x")], (ABSENT, 0)),
    ("copy from behind the end", {"q": [1]}, [op("copy", "/b", from_="/q/-")], (ABSENT, 0)),
    (
        "a copy is a value of its own",
        {"a": {"x": [1]}},
        [op("copy", "/b", from_="/a"), op("add", "/b/x/-", value=2), op("remove", "/a/x/0")],
        {"a": {"x": []}, "b": {"x": [1, 2]}},
    ),
    ("test passes and changes nothing", {"a": [{"b": 2}]}, [op("test", "/a", value=[{"b": 2}])], {"a": [{"b": 2}]}),
    ("test fails", {"a": 1}, [op("test", "/a", value=2)], (UNEQUAL, 0)),
    ("test of what is not there", {"a": 1}, [op("test", "/b", value=None)], (UNEQUAL, 0)),
    ("test behind the end", {"a": [1]}, [op("test", "/a/-", value=1)], (UNEQUAL, 0)),
    ("test out of range", {"a": [1]}, [op("test", "/a/1", value=1)], (UNEQUAL, 0)),
    ("an operation sees those before it", {}, [op("add", "/a", value={}), op("add", "/a/b", value=1)], {"a": {"b": 1}}),
    (
        "a failure in the middle has its index",
        {"a": 1},
        [op("test", "/a", value=1), op("remove", "/a"), op("test", "/a", value=1), op("add", "/b", value=2)],
        (UNEQUAL, 2),
    ),
    ("no operations", {"a": 1}, [], {"a": 1}),
]  # fmt: skip

# The whole document, at the pointer "".
WHOLE: list[Case] = [
    ("add replaces it", {"a": 1}, [op("add", "", value=[2])], [2]),
    ("replace replaces it", [1], [op("replace", "", value={"a": None})], {"a": None}),
    ("it may become a scalar", {"a": 1}, [op("replace", "", value=5)], 5),
    ("a scalar is tested", "x", [op("test", "", value="x")], "x"),
    ("it is tested", {"a": [1]}, [op("test", "", value={"a": [1]})], {"a": [1]}),
    ("it is tested for more", {"a": 1}, [op("test", "", value={"a": 1, "b": 2})], (UNEQUAL, 0)),
    ("a child takes its place", {"a": {"b": 1}}, [op("move", "", from_="/a")], {"b": 1}),
    ("a copy of a child takes its place", {"a": [1]}, [op("copy", "", from_="/a")], [1]),
    ("it is copied into a child", {"a": 1}, [op("copy", "/b", from_="")], {"a": 1, "b": {"a": 1}}),
    ("it is moved onto itself", {"a": 1}, [op("move", "", from_="")], {"a": 1}),
    ("it cannot be removed", {"a": 1}, [op("remove", "")], (ABSENT, 0)),
]

# Array indices (RFC 6901, section 4), tried with every operation that reads or writes an element of [10, 11].
BAD_INDICES = ["00", "01", "-1", "+1", " 1", "1 ", "1e0", "1.0", "0x1", "", "a", "١", "²", "--", "1_0", "1\n"]  # noqa: RUF001
FAR_INDICES = ["2", "3", "99999999999999999999", "9" * 2000]

# Names that look like something else.
NAMES: list[Case] = [
    ("the empty name", {"": 1}, [op("replace", "/", value=2)], {"": 2}),
    ("the empty name below the empty name", {"": {"": 1}}, [op("remove", "//")], {"": {}}),
    ("a slash in a name", {"a/b": 1}, [op("replace", "/a~1b", value=2)], {"a/b": 2}),
    ("a tilde in a name", {"m~n": 1}, [op("replace", "/m~0n", value=2)], {"m~n": 2}),
    ("~01 is ~1, not a slash", {"~1": 1, "/": 2}, [op("remove", "/~01")], {"/": 2}),
    ("~00 is ~0", {"~0": 1, "~": 2}, [op("remove", "/~00")], {"~": 2}),
    ("both escapes", {"~/": 1}, [op("test", "/~0~1", value=1)], {"~/": 1}),
    ("a percent escape is text", {"c%d": 1, "c d": 2}, [op("remove", "/c%d")], {"c d": 2}),
    ("a URI fragment is no pointer", {"a": 1}, [op("test", "#/a", value=1)], (MALFORMED, 0)),
    ("a number names a member", {"0": "a", "1": "b"}, [op("remove", "/0")], {"1": "b"}),
    ("a leading zero names a member", {"01": 1, "1": 2}, [op("remove", "/01")], {"1": 2}),
    ("a negative number names a member", {"-1": 1}, [op("replace", "/-1", value=2)], {"-1": 2}),
    ("a hyphen names a member", {"-": 1}, [op("replace", "/-", value=2)], {"-": 2}),
    ("a hyphen is added as a member", {}, [op("add", "/-", value=1)], {"-": 1}),
    ("a number is added as a member", {}, [op("add", "/0", value=1)], {"0": 1}),
    ("names are not normalised", {"e\u0301": 1, "\u00e9": 2}, [op("remove", "/\u00e9")], {"e\u0301": 1}),
    ("names have a case", {"A": 1}, [op("remove", "/a")], (ABSENT, 0)),
    ("a name with a NUL", {"a\x00b": 1}, [op("remove", "/a\x00b")], {}),
    ("attributes are no members", {}, [op("test", "/__class__", value=1)], (UNEQUAL, 0)),
    ("a method is no member of an array", [1], [op("test", "/append", value=1)], (UNEQUAL, 0)),
]

# Equality of JSON values (RFC 6902, section 4.6): (value, other value, whether they are equal).
EQUALITY: list[tuple[Any, Any, bool]] = [
    (1, 1.0, True),
    (0, -0.0, True),
    (1e2, 100, True),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}, True),
    ([1, [2]], [1, [2]], True),
    (None, None, True),
    ("\u00e9", "\u00e9", True),
    (1, True, False),
    (0, False, False),
    (1.0, True, False),
    (1, "1", False),
    ("", None, False),
    ("", False, False),
    (0, None, False),
    (False, None, False),
    ([], {}, False),
    ([], None, False),
    ({}, None, False),
    ([1], [True], False),
    ({"a": 0}, {"a": False}, False),
    ({"a": [{"b": 1}]}, {"a": [{"b": True}]}, False),
    ([1, 2], [2, 1], False),
    ([1], [1, 1], False),
    ([], [None], False),
    ({"a": None}, {}, False),
    ("a", "A", False),
    ("e\u0301", "\u00e9", False),
    ("1", "1.0", False),
    (9007199254740993, 9007199254740992, False),
    (18446744073709551615, 18446744073709551614, False),
]

# No JSON Patch at all: (why, the operations, the index named).
MALFORMED_PATCHES: list[tuple[str, Any, int | None]] = [
    ("an object", {"op": "add", "path": "/a", "value": 1}, None),
    ("null", None, None),
    ("a string", "add", None),
    ("an operation that is a string", ["remove"], 0),
    ("an operation that is an array", [["op", "remove"]], 0),
    ("an operation that is null", [op("test", "", value={}), None], 1),
    ("no op", [{"path": "/a", "value": 1}], 0),
    ("an unknown op", [op("spam", "/a", value=1)], 0),
    ("an op in capitals", [op("ADD", "/a", value=1)], 0),
    ("an op with a blank", [op("add ", "/a", value=1)], 0),
    ("an op of the library, not of the RFC", [op("append", "/a", value="x")], 0),
    ("an op that is null", [{"op": None, "path": "/a"}], 0),
    ("an op that is an array", [{"op": ["add"], "path": "/a", "value": 1}], 0),
    ("no path", [{"op": "remove"}], 0),
    ("a path that is null", [{"op": "remove", "path": None}], 0),
    ("a path that is a number", [{"op": "remove", "path": 0}], 0),
    ("a path without its slash", [{"op": "remove", "path": "a"}], 0),
    ("a path that ends in a tilde", [{"op": "remove", "path": "/a~"}], 0),
    ("a path with an unknown escape", [{"op": "remove", "path": "/a~2"}], 0),
    ("a path with a tilde before a newline", [{"op": "remove", "path": "/a~\n"}], 0),
    ("a path that is too long", [{"op": "remove", "path": "/a" * 1025}], 0),
    ("add without a value", [op("add", "/a")], 0),
    ("replace without a value", [op("replace", "/a")], 0),
    ("test without a value", [op("test", "/a")], 0),
    ("move without a from", [op("move", "/a")], 0),
    ("a from without its slash", [op("move", "/a", from_="b")], 0),
    ("a from with an unknown escape", [op("copy", "/a", from_="/~a")], 0),
    ("a fault in the second operation", [op("remove", "/a"), op("add", "/b")], 1),
]
