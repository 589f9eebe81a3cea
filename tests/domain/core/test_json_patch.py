"""JSON Patch: cases for every rule of RFC 6902 and 6901, and bounds."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.domain.core.canonical_json import MAX_DEPTH, canonical
from memnet.domain.core.errors import LimitExceeded, MemnetError, PatchMalformed, PatchNotApplicable, PatchTestFailed
from memnet.domain.core.json_patch import (
    MAX_CARRIED,
    MAX_POINTER_CHARS,
    apply,
    parse_patch,
    pointer,
    pointer_text,
    resolve,
)
from tests.domain import rfc6902_cases as cases
from tests.domain.samples import op

BY_NAME = [*cases.OPERATIONS, *cases.WHOLE, *cases.NAMES]


def patched(document: Any, ops: Any) -> Any:
    return apply(copy.deepcopy(document), [operation.body for operation in parse_patch(ops)])


@pytest.mark.parametrize(("document", "ops", "outcome"), [case[1:] for case in BY_NAME], ids=[c[0] for c in BY_NAME])
def test_situation(document: Any, ops: Any, outcome: Any) -> None:
    if not isinstance(outcome, tuple):
        assert canonical(patched(document, ops)) == canonical(outcome)
        return
    with pytest.raises(outcome[0]) as refusal:
        patched(document, ops)
    assert refusal.type is outcome[0]
    assert refusal.value.details["op_index"] == outcome[1]


MALFORMED = {name: ops_and_index for name, *ops_and_index in cases.MALFORMED_PATCHES}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_no_patch_is_malformed(name: str) -> None:
    ops, index = MALFORMED[name]
    with pytest.raises(PatchMalformed) as refusal:
        parse_patch(ops)
    assert refusal.value.details.get("op_index") == index


@pytest.mark.parametrize(
    "make",
    [
        lambda at: op("add", at, value=0),
        lambda at: op("remove", at),
        lambda at: op("replace", at, value=0),
        lambda at: op("test", at, value=10),
        lambda at: op("copy", at, from_="/q/0"),
        lambda at: op("copy", "/x", from_=at),
        lambda at: op("move", "/x", from_=at),
        lambda at: op("add", at + "/deeper", value=0),
    ],
)
@pytest.mark.parametrize("index", cases.BAD_INDICES)
def test_an_array_has_no_such_index(make: Any, index: Any) -> None:
    with pytest.raises((PatchNotApplicable, PatchTestFailed)):
        patched({"q": [10, 11], "y": 1}, [make("/q/" + pointer_text([index])[1:])])


@pytest.mark.parametrize("index", cases.FAR_INDICES)
def test_an_index_beyond_the_end(index: Any) -> None:
    document = {"q": [10, 11], "y": 1}
    at = f"/q/{index}"
    for operation in [
        op("remove", at),
        op("replace", at, value=0),
        op("test", at, value=0),
        op("copy", "/x", from_=at),
    ]:
        with pytest.raises((PatchNotApplicable, PatchTestFailed)):
            patched(document, [operation])
    if index == "2":
        assert patched(document, [op("add", at, value=12)])["q"] == [10, 11, 12]
    else:
        with pytest.raises(PatchNotApplicable):
            patched(document, [op("add", at, value=12)])


@pytest.mark.parametrize(("value", "other", "equal"), cases.EQUALITY)
def test_equality_is_that_of_json(value: Any, other: Any, equal: Any) -> None:
    for found, wanted in [(value, other), (other, value)]:
        if equal:
            patched({"a": found}, [op("test", "/a", value=wanted)])
        else:
            with pytest.raises(PatchTestFailed):
                patched({"a": found}, [op("test", "/a", value=wanted)])


def test_members_that_the_rfc_does_not_define_are_ignored() -> None:
    ops = [{"op": "add", "path": "/a", "value": 1, "from": 5, "comment": {"deep": []}, "xpath": "/b"}]
    assert patched({}, ops) == {"a": 1}
    assert patched({"a": 1}, [{"op": "remove", "path": "/a", "value": "x", "from": "no pointer"}]) == {}


def test_no_word_of_the_document_is_in_a_refusal() -> None:
    secret = "the-secret-of-the-user"
    for ops in [
        [op("test", "/a", value="a-guess-of-the-client")],
        [op("add", "/a/b", value=1)],
        [op("remove", "/a/0")],
        [op("replace", "/q/7", value=1)],
    ]:
        with pytest.raises(MemnetError) as refusal:
            patched({"a": secret, "q": [secret]}, ops)
        error = refusal.value
        assert secret not in repr((error.message, error.details, str(error)))
        assert "a-guess" not in repr((error.message, error.details))
        assert error.__suppress_context__, "a traceback would print the library's message, which quotes the document"


# Bounds.


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_a_value_may_nest_as_deep_as_the_limit_and_no_deeper() -> None:
    assert patched({}, [op("add", "/a", value=nested(MAX_DEPTH - 1))])
    with pytest.raises(LimitExceeded) as refusal:
        patched({}, [op("test", "", value={}), op("add", "/a", value=nested(MAX_DEPTH))])
    assert refusal.value.details["op_index"] == 1


def test_moves_and_copies_do_not_deepen_beyond_the_limit() -> None:
    document = {"deep": nested(40), "other": nested(40)}
    below = "/other" + "/0" * 39 + "/0"
    for verb in ("move", "copy"):
        with pytest.raises(LimitExceeded):
            patched(document, [op(verb, below, from_="/deep")])
    steps = [op("copy", "/a/a", from_="/a") for _ in range(MAX_DEPTH)]
    with pytest.raises(LimitExceeded):
        patched({"a": {}}, steps)


def test_copies_that_double_a_document_are_stopped() -> None:
    doubling = [op("copy", "/a/0", from_="/a")] * 50
    with pytest.raises(LimitExceeded) as refusal:
        patched({"a": [1]}, doubling)
    assert refusal.value.details["op_index"] <= MAX_CARRIED.bit_length()


def test_copies_of_long_strings_and_names_are_stopped_though_they_are_few_values() -> None:
    for value in ["x" * 10_000, {"n" * 10_000: 1}]:
        with pytest.raises(LimitExceeded) as refusal:
            patched({"a": [value]}, [op("copy", "/a/0", from_="/a")] * 12)
        assert str(MAX_CARRIED) in refusal.value.message


def test_moves_of_a_large_value_are_stopped_before_they_cost_much() -> None:
    ops = [op("move", "/b", from_="/a"), op("move", "/a", from_="/b")] * 50
    with pytest.raises(LimitExceeded):
        patched({"a": [0] * 50_000}, ops)


def test_ordinary_moves_of_a_whole_document_are_not() -> None:
    ops = [op("move", "/b", from_="/a"), op("move", "/a", from_="/b")] * 8
    assert patched({"a": "x" * 30_000}, ops) == {"a": "x" * 30_000}


def test_a_pointer_has_a_length_limit() -> None:
    assert len(pointer("/a" * (MAX_POINTER_CHARS // 2))) == MAX_POINTER_CHARS // 2
    with pytest.raises(PatchMalformed, match="limited to"):
        pointer("/" + "a" * MAX_POINTER_CHARS)


# Pointers.


@given(st.lists(st.text(), max_size=6))
def test_a_pointer_written_is_the_pointer_read(segments: Any) -> None:
    text = pointer_text(segments)
    assert pointer(text) == tuple(segments)
    document: Any = "there"
    for segment in reversed(segments):
        document = {segment: document}
    assert resolve(document, text) == "there"


@pytest.mark.parametrize("text", ["/a/-", "/a/2", "/a/x", "/b", "/a/0/x", "/s/0"])
def test_resolve_finds_nothing_there(text: Any) -> None:
    with pytest.raises(PatchNotApplicable):
        resolve({"a": [1, 2], "s": "text"}, text)
