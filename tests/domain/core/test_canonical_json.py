"""What the strict reader refuses, and that the canonical form is one."""

import json
import math
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.domain.core.canonical_json import (
    MAX_DEPTH,
    MAX_INTEGER,
    MIN_INTEGER,
    canonical,
    parse,
    sha256_hex,
)
from memnet.domain.core.errors import MalformedRequest

REFUSED = {
    "nothing": b"",
    "two values": b"{} {}",
    "a NUL behind the value": b"{}\x00",
    "an open object": b'{"a": 1',
    "a trailing comma": b'{"a": 1,}',
    "a line break in a string": b'["a\nb"]',
    "NaN": b"[NaN]",
    "Infinity": b"[Infinity]",
    "a number beyond a double": b"[1e999]",
    "an integer of 65 bits": b"[18446744073709551616]",
    "a negative integer of 65 bits": b"[-9223372036854775809]",
    "an integer of a hundred thousand digits": b"[" + b"9" * 100_000 + b"]",
    "a name twice": b'{"a": 1, "a": 2}',
    "a name twice, once escaped": b'{"a": 1, "\\u0061": 2}',
    "a name twice deep down": b'[{"x": [{"a": {"b": 1, "c": 2, "b": 3}}]}]',
    "a lone high surrogate": b'["\\ud800"]',
    "a lone surrogate in a name": b'{"\\udfff": 1}',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "Latin-1": '["\u00e9"]'.encode("latin-1"),
    "a surrogate in UTF-8": b'["\xed\xa0\x80"]',
    "a hundred thousand brackets": b"[" * 100_000,
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    with pytest.raises(MalformedRequest):
        parse(REFUSED[name])


@pytest.mark.parametrize(
    "data", [b'{"secret-name": 1, "secret-name": 2}', b'["secret-text\\ud800"]', b'{"secret": tru}']
)
def test_the_message_holds_nothing_of_the_body(data: Any) -> None:
    with pytest.raises(MalformedRequest) as refusal:
        parse(data)
    assert "secret" not in refusal.value.message
    assert refusal.value.details == {}


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"null", None),
        (b" \r\n\t0 ", 0),
        (b"-0", 0),
        (b"18446744073709551615", MAX_INTEGER),
        (b"-9223372036854775808", MIN_INTEGER),
        (b'{"a": {"a": {"a": 1}}, "A": 2}', {"a": {"a": {"a": 1}}, "A": 2}),
        (b'[{"a": 1}, {"a": 1}]', [{"a": 1}, {"a": 1}]),
        ('"\U0001f600"'.encode(), "\U0001f600"),
        (b'"\\u0000\\u001f\x7f"', "\x00\x1f\x7f"),
        ('"\u2028\ufeff"'.encode(), "\u2028\ufeff"),
        (b'{"\\u00e9": 1, "e\\u0301": 2}', {"\u00e9": 1, "e\u0301": 2}),
    ],
)
def test_read(data: Any, value: Any) -> None:
    assert parse(data) == value
    assert type(parse(data)) is type(value)


def test_numbers_stay_what_they_were_written_as() -> None:
    found = parse(b"[1, 1.0, 1e0, -0.0, 1E2, 9007199254740993]")
    assert [type(number) for number in found] == [int, float, float, float, float, int]
    assert math.copysign(1, found[3]) == -1
    assert found[5] == 9007199254740993


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
@pytest.mark.parametrize("inner", [b"1", b"[]", b"{}"])
def test_depth_counts_arrays_and_objects(opening: Any, closing: Any, inner: Any) -> None:
    around = MAX_DEPTH - (inner != b"1")
    assert parse(opening * around + inner + closing * around)
    with pytest.raises(MalformedRequest, match="deeper than 64"):
        parse(opening * (around + 1) + inner + closing * (around + 1))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"a":' * 100_000, "deeper than 64"),
        # Converted, it would take quadratic time, or be refused by Python with a ValueError.
        (b"9" * 1_000_000, "more than 64 bits"),
    ],
)
def test_hostile_bodies_are_refused_before_they_cost_much(body: Any, why: Any) -> None:
    with pytest.raises(MalformedRequest, match=why):
        parse(body)


def test_siblings_do_not_count_as_depth() -> None:
    assert len(parse(b"[" + b"[]," * 300_000 + b"[]]")) == 300_001


@pytest.mark.parametrize(
    ("body", "values"),
    [
        (b"[1,2,3]", 4),
        (b'{"a":1,"b":[2]}', 4),
        (rb'["a,b","[{,\\","\","]', 4),
        (b'{"a,b":","}', 2),
        # An empty array counts twice, so that counting needs no parser.
    ],
)
def test_values_are_counted_outside_of_texts(body: Any, values: Any) -> None:
    assert parse(body, max_values=values) == parse(body)
    with pytest.raises(MalformedRequest, match=f"more than {values - 1} values"):
        parse(body, max_values=values - 1)


# The canonical form.

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NUMBER = st.integers(MIN_INTEGER, MAX_INTEGER) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_what_is_written_is_what_is_read(value: Any) -> None:
    written = canonical(value)
    assert canonical(parse(written)) == written
    assert canonical(orjson.loads(written)) == written
    assert canonical(json.loads(json.dumps(value))) == written


@given(st.dictionaries(TEXT, NUMBER, min_size=2), st.randoms(use_true_random=False))
def test_the_order_of_members_does_not_count(members: Any, random: Any) -> None:
    shuffled = list(members.items())
    random.shuffle(shuffled)
    assert canonical(dict(shuffled)) == canonical(members)


def test_the_canonical_form() -> None:
    value = {"b": [1, 1.0, -0.0, None, True], "a": "\u00e9\U0001f600\x00/\u2028", "\u00e9": {}, "": [], "B": 1e16}
    written = '{"":[],"B":1e+16,"a":"\u00e9\U0001f600\\u0000/\u2028","b":[1,1.0,-0.0,null,true],"\u00e9":{}}'
    assert canonical(value).decode() == written


def test_values_that_readers_could_confuse_have_different_bytes() -> None:
    values = [1, 1.0, True, "1", None, "null", [], {}, [1], {"1": 1}, 0, -0.0, 0.0, False, ""]
    assert len({sha256_hex(canonical(value)) for value in values}) == len(values)
