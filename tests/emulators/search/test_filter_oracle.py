"""Random filters over random documents, against the same condition written in plain Python."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulators.search.engine import index_of, keys

FIELDS = [
    {"name": "s", "type": "Edm.String"},
    {"name": "n", "type": "Edm.Int32"},
    {"name": "d", "type": "Edm.Double"},
    {"name": "b", "type": "Edm.Boolean"},
    {"name": "t", "type": "Edm.DateTimeOffset"},
    {"name": "ss", "type": "Collection(Edm.String)"},
]
START = datetime(2024, 1, 1, tzinfo=UTC)
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}
Document = dict[str, Any]


@dataclass(frozen=True)
class Condition:
    """A filter, and what it means."""

    text: str
    holds: Callable[[Document], bool]


strings = st.sampled_from(["", "x", "y", "it's", "a b", "é"])
numbers = st.integers(-3, 3)
doubles = st.sampled_from([-1.5, 0.0, 0.5, 1.5, 2.0])
times = numbers.map(lambda days: START + timedelta(days=days, milliseconds=days))
documents = st.fixed_dictionaries(
    {
        "s": st.none() | strings,
        "n": st.none() | numbers,
        "d": st.none() | doubles,
        "b": st.none() | st.booleans(),
        "t": st.none() | times,
        "ss": st.lists(strings, max_size=3),
    }
)


def literal(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case _:
            return str(value)


def equality(field: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Condition]:
    return st.builds(
        lambda value, negated: Condition(
            f"{field} {'ne' if negated else 'eq'} {literal(value)}",
            lambda document: (document[field] == value) != negated,
        ),
        st.none() | values,
        st.booleans(),
    )


def comparison(field: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Condition]:
    return st.builds(
        lambda value, name, mirrored: Condition(
            f"{literal(value)} {name} {field}" if mirrored else f"{field} {name} {literal(value)}",
            lambda document: (
                document[field] is not None
                and (COMPARE[name](value, document[field]) if mirrored else COMPARE[name](document[field], value))
            ),
        ),
        values,
        st.sampled_from(sorted(COMPARE)),
        st.booleans(),
    )


def listed() -> st.SearchStrategy[Condition]:
    return st.builds(
        lambda wanted: Condition(
            f"search.in(s, {literal('|'.join(wanted))}, '|')", lambda document: document["s"] in set(wanted) - {""}
        ),
        st.lists(strings, max_size=3),
    )


def string_elements() -> st.SearchStrategy[Condition]:
    return st.builds(
        lambda wanted, negated: Condition(
            f"{'not ' if negated else ''}ss/any(e: {' or '.join(f'e eq {literal(value)}' for value in wanted)})",
            lambda document: bool(set(wanted) & set(document["ss"])) != negated,
        ),
        st.lists(strings, min_size=1, max_size=2),
        st.booleans(),
    )


def combined(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    return (
        st.builds(lambda one: Condition(f"not ({one.text})", lambda document: not one.holds(document)), inner)
        | st.builds(
            lambda one, two: Condition(
                f"({one.text}) and ({two.text})", lambda document: one.holds(document) and two.holds(document)
            ),
            inner,
            inner,
        )
        | st.builds(
            lambda one, two, three: Condition(
                f"{one.text} or {two.text} and {three.text}",
                lambda document: one.holds(document) or (two.holds(document) and three.holds(document)),
            ),
            simple,
            simple,
            simple,
        )
    )


simple = st.one_of(
    equality("s", strings),
    equality("n", numbers),
    equality("d", doubles),
    equality("b", st.booleans()),
    equality("t", times),
    comparison("n", numbers | doubles),
    comparison("d", numbers | doubles),
    comparison("t", times),
    listed(),
    string_elements(),
    st.sampled_from(
        [
            Condition("b", lambda document: document["b"] is True),
            Condition("ss/any()", lambda document: bool(document["ss"])),
            Condition("true", lambda _: True),
        ]
    ),
)
conditions = st.recursive(simple, combined, max_leaves=5)


@settings(max_examples=400)
@given(st.lists(documents, min_size=1, max_size=6), conditions)
def test_filters_mean_what_they_say(found: list[Document], condition: Condition) -> None:
    stored = [
        {**document, "id": str(number), "t": None if document["t"] is None else literal(document["t"])}
        for number, document in enumerate(found)
    ]
    expected = [str(number) for number, document in enumerate(found) if condition.holds(document)]
    assert keys(index_of(FIELDS, stored), filter=condition.text) == expected
