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
    {"name": "bs", "type": "Collection(Edm.Boolean)"},
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
        "bs": [True],
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
        ("s ne 'x'", "bc"),
        ("'x' eq s", "a"),
        ("s eq null", "c"),
        ("s ne null", "ab"),
        ("null eq s", "c"),
        ("n gt -3", "a"),
        ("n ge -3", "ab"),
        ("-3 lt n", "a"),
        ("n le 0", "b"),
        ("n lt 1.5", "ab"),
        ("n gt 0.5", "a"),
        ("n eq 1.5", ""),
        ("n ne 1.5", "abc"),
        ("n eq 1.0", "a"),
        ("n lt 99999999999999999999999", "ab"),
        ("l eq 4611686018427387904", "a"),
        ("l eq 4611686018427387905", ""),
        ("l gt 4611686018427387903", "a"),
        ("d eq 1.5", "a"),
        ("d gt 1", "a"),
        ("d lt INF", "a"),
        ("d gt -INF", "a"),
        ("d eq NaN", ""),
        ("d ne NaN", "abc"),
        ("not (d gt 1)", "bc"),
        ("b", "a"),
        ("not b", "bc"),
        ("b eq false", "b"),
        ("b ne true", "bc"),
        ("t eq 2024-05-01T08:00:00.25Z", "a"),
        ("t lt 2025-01-01T00:00Z", "a"),
        ("t ge 2024-12-31T23:00:00-01:00", "b"),
        ("s eq 'x' or n lt 0 and b", "a"),
        ("(s eq 'x' or n lt 0) and not b", "b"),
        ("search.in(s, 'x,y')", "ab"),
        ("search.in(s, 'x y z')", "ab"),
        ("search.in(s, 'x|y z', '|')", "a"),
        ("search.in(s, '')", ""),
        ("not search.in(s, 'x')", "bc"),
        ("search.in(s, 'x') eq true", "a"),
        ("search.in(s, 'x') ne true", "bc"),
        ("ss/any()", "ab"),
        ("not ss/any()", "c"),
        ("ss/any(e: e eq 'x')", "a"),
        ("ss/any(e: e eq 'y' or e eq 'z')", "ab"),
        ("ss/any(e: search.in(e, 'y z'))", "ab"),
        ("ss/all(e: e ne 'x')", "bc"),
        ("ss/all(e: not (e eq 'x') and e ne 'q')", "bc"),
        ("ss/all(e: not search.in(e, 'x, q'))", "bc"),
        ("ns/any(e: e gt 4 and e lt 6)", "a"),
        ("ns/any(e: e eq 7 or e eq 1)", "ab"),
        ("ns/any(e: e ne 1)", "ab"),
        ("ns/all(e: e gt 4)", "bc"),
        ("ns/all(e: e lt 2 or e gt 6)", "bc"),
        ("ns/any(e: not (e le 4))", "ab"),
        ("bs/any(e: e)", "a"),
        ("bs/all(e: not e)", "bc"),
        ("any_thing eq 'it''s'", "a"),
        ("nullable eq 'q'", "a"),
        ("true", "abc"),
        ("false or s eq 'y'", "b"),
        ("not not (s eq 'x')", "a"),
        ("  s  eq\t'x'\n", "a"),
    ],
)
def test_what_a_filter_keeps(index: DocumentIndex, text: str, expected: str) -> None:
    assert keys(index, filter=text) == list(expected)


@pytest.mark.parametrize(
    "text",
    [
        "s",
        "s eq",
        "eq 'x'",
        "s = 'x'",
        "s EQ 'x'",
        "s eq 'x' AND b",
        'S eq "x"',
        "S eq 'x'",
        "s eq 'x",
        "s eq'x'",
        "s eq 'x' 'y'",
        "(s eq 'x'",
        "s eq 'x')",
        "s eq x",
        "s eq n",
        "'x' eq 'x'",
        "s in ('x', 'y')",
        "s gt 'x'",
        "b gt false",
        "s eq 1",
        "n eq 'x'",
        "n eq true",
        "n eq 2024-05-01T10:00:00Z",
        "n lt null",
        "l eq NaN",
        "n lt INF",
        "n add 1 eq 2",
        "-n eq 1",
        "t gt 2024-05-01",
        "t gt 2024-05-01T10:00:00",
        "t gt 2024-13-01T10:00:00Z",
        "t gt '2024-05-01T10:00:00Z'",
        "not n gt 5",
        "unknown eq 'x'",
        "unfilterable eq 'x'",
        "contains(s, 'x')",
        "startswith(s, 'x')",
        "tolower(s) eq 'x'",
        "search.in(n, '1')",
        "search.in(s)",
        "search.in('x', s)",
        "search.in(s, 'a', 'b', 'c')",
        "search.score() gt 1",
        "ss eq 'x'",
        "s/any(e: e eq 'x')",
        "s/length eq 1",
        "ss/any(e: s eq 'x')",
        "ss/any(e: e ne 'x')",
        "ss/any(e: not (e eq 'x'))",
        "ss/all(e: e eq 'x')",
        "ss/all(e: search.in(e, 'x'))",
        "ss/all()",
        "ss/any(e: e eq 'x' and e eq 'y')",
        "ss/all(e: e ne 'x' or e ne 'y')",
        "ss/any(e: e eq null)",
        "ss/any(e: true)",
        "ss/any(e: ss/any(f: f eq 'x'))",
        "ss/any(s: s eq 'x')",
        "ns/any(e: e ne 5 and e gt 2)",
        "ns/all(e: e eq 5 or e le 2)",
        "ns/any(e: (e eq 1 or e eq 2) and e lt 9)",
        "bs/any(e: e or not e)",
        "s eq guid'x'",
        "s eq 'x'; drop",
        "s eq 'x' --",
        "n eq 1e999",
        "n eq 1eq",
        "a.b.c eq 1",
        "",
    ],
)
def test_refused_with_400(index: DocumentIndex, text: str) -> None:
    if not text:
        assert keys(index, filter=text) == list("abc")
        return
    with pytest.raises(SearchError) as caught:
        keys(index, filter=text)
    assert caught.value.status == 400
    assert caught.value.message.endswith("Parameter name: $filter")


@pytest.mark.parametrize(
    "text",
    [
        "search.ismatch('x')",
        "search.ismatchscoring('x', 's') and b",
        "not search.ismatch('x')",
    ],
)
def test_functions_that_are_lacking_answer_501(index: DocumentIndex, text: str) -> None:
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


def test_as_many_clauses_as_allowed(index: DocumentIndex) -> None:
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
    assert status in (200, 400)
