"""`$filter`: the grammar, its refusals, and that a hostile string stays a string."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.emulators.search.document_index import DocumentIndex
from local.emulators.search.errors import SearchError
from local.emulators.search.limits import FILTER_CLAUSES, NESTING
from tests.emulators.search.engine import index_of, keys

FIELDS: list[dict[str, Any]] = [
    {"name": "s", "type": "Edm.String"},
    {"name": "n", "type": "Edm.Int32"},
    {"name": "l", "type": "Edm.Int64"},
    {"name": "d", "type": "Edm.Double"},
    {"name": "b", "type": "Edm.Boolean"},
    {"name": "t", "type": "Edm.DateTimeOffset"},
    {"name": "ss", "type": "Collection(Edm.String)"},
    {"name": "ns", "type": "Collection(Edm.Int32)"},
    {"name": "any_thing", "type": "Edm.String"},
    {"name": "nullable", "type": "Edm.String"},
    {"name": "unfilterable", "type": "Edm.String", "filterable": False},
]
DOCUMENTS: list[dict[str, Any]] = [
    {
        "id": "a",
        "s": "x",
        "n": 1,
        "l": 2**62,
        "d": 1.5,
        "b": True,
        "t": "2024-05-01T10:00:00.25+02:00",
        "ss": ["x", "y"],
        "ns": [1, 5],
        "any_thing": "it's",
        "nullable": "q",
    },
    {"id": "b", "s": "y", "n": -3, "d": "NaN", "b": False, "t": "2025-01-01T00:00:00Z", "ss": ["z"], "ns": [7]},
    {"id": "c"},
]


@pytest.fixture(scope="module")
def index() -> DocumentIndex:
    return index_of(FIELDS, DOCUMENTS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s eq 'x'", "a"),
        ("s eq null", "c"),
        ("n gt -3", "a"),
        ("n lt 1.5", "ab"),
        ("n eq 1.5", ""),
        ("n lt 99999999999999999999999", "ab"),
        ("l eq 4611686018427387904", "a"),
        ("l eq 4611686018427387905", ""),
        ("d lt INF", "a"),
        ("d ne NaN", "abc"),
        ("b", "a"),
        ("t eq 2024-05-01T08:00:00.25Z", "a"),
        ("t lt 2025-01-01T00:00Z", "a"),
        ("s eq 'x' or n lt 0 and b", "a"),
        ("search.in(s, 'x y z')", "ab"),
        ("search.in(s, '')", ""),
        ("search.in(s, 'x') eq true", "a"),
        ("ss/any(e: search.in(e, 'y z'))", "ab"),
        ("ss/any(e: e eq 'y' or search.in(e, 'z'))", "ab"),
        ("not ss/any(e: e eq 'x')", "bc"),
        ("any_thing eq 'it''s'", "a"),
        ("true", "abc"),
        ("false or s eq 'y'", "b"),
        ("  s  eq\t'x'\n", "a"),
    ],
)
def test_what_a_filter_keeps(index: DocumentIndex, text: str, expected: str) -> None:
    assert keys(index, filter=text) == list(expected)


@pytest.mark.parametrize(
    "text",
    [
        "s",
        "eq 'x'",
        "s eq 'x' AND b",
        "s eq 'x",
        "s eq'x'",
        "s eq 'x' 'y'",
        "s eq 'x')",
        "'x' eq 'x'",
        "s gt 'x'",
        "s eq 1",
        "n lt null",
        "l eq NaN",
        "n add 1 eq 2",
        "t gt 2024-05-01T10:00:00",
        "not n gt 5",
        "unknown eq 'x'",
        "unfilterable eq 'x'",
        "contains(s, 'x')",
        "search.in(n, '1')",
        "search.in(s, 'a', 'b', 'c')",
        "ss eq 'x'",
        "s/any(e: e eq 'x')",
        "ss/any(e: s eq 'x')",
        "ss/all()",
        "ss/any(e: e eq 'x' and e eq 'y')",
        "ss/any(e: e eq null)",
        "ss/any(e: ss/any(f: f eq 'x'))",
        "ss/any(s: s eq 'x')",
        "n eq 1e999",
    ],
)
def test_refused_with_400(index: DocumentIndex, text: str) -> None:
    with pytest.raises(SearchError) as caught:
        keys(index, filter=text)
    assert caught.value.status == 400
    assert caught.value.message.endswith("Parameter name: $filter")


@pytest.mark.parametrize(
    "text",
    ["search.ismatch('x')", "search.ismatchscoring('x', 's') and b", "ss/all(e: e ne 'x')", "ns/any(e: e eq 5)"],
)
def test_what_is_lacking_answers_501(index: DocumentIndex, text: str) -> None:
    with pytest.raises(SearchError) as caught:
        keys(index, filter=text)
    assert caught.value.status == 501


@pytest.mark.parametrize(
    "text",
    [
        " or ".join(["b"] * (FILTER_CLAUSES + 1)),
        "(" * (NESTING + 1) + "b" + ")" * (NESTING + 1),
        "not " * (NESTING + 1) + "b",
    ],
    ids=["clauses", "parentheses", "not"],
)
def test_size_is_limited(index: DocumentIndex, text: str) -> None:
    with pytest.raises(SearchError) as caught:
        keys(index, filter=text)
    assert caught.value.status == 400
    assert keys(index, filter=" or ".join(["b"] * FILTER_CLAUSES)) == ["a"]


def test_a_time_finer_than_a_millisecond_is_cut() -> None:
    index = index_of(FIELDS, [{"id": "a", "t": "2024-05-01T10:00:00.7559999Z"}])
    assert keys(index, filter="t eq 2024-05-01T10:00:00.755Z") == ["a"]


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@given(st.text(), st.text())
def test_a_hostile_string_is_only_ever_a_string(tenant: str, other: str) -> None:
    """Whatever the tenant is called, a quoted comparison with it keeps exactly its own documents."""
    index = index_of(FIELDS, [{"id": "mine", "s": tenant}, {"id": "theirs", "s": other}, {"id": "none"}])
    expected = ["mine", "theirs"] if tenant == other else ["mine"]
    assert keys(index, filter=f"s eq {quoted(tenant)}") == expected
    assert keys(index, filter=f"s eq {quoted(tenant)} and (n eq 1 or s ne null)") == expected


@given(st.text(alphabet="sxy'()=/:,. 01anyorlteqnu", max_size=40))
def test_any_text_is_a_filter_or_400(text: str) -> None:
    index = index_of(FIELDS, DOCUMENTS)
    status = 200
    try:
        keys(index, filter=text)
    except SearchError as error:
        status = error.status
    assert status in (200, 400, 501)
