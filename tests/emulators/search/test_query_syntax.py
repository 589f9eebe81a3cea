"""The simple query syntax: what Lucene's SimpleQueryParser makes of a text."""

from typing import Final

import pytest

from local.emulators.search.analysis import terms
from local.emulators.search.errors import SearchError
from local.emulators.search.limits import NESTING, PREFIX_CHARACTERS, SEARCH_CHARACTERS, SEARCH_CLAUSES
from local.emulators.search.query_syntax import (
    Combined,
    MatchAll,
    MatchNone,
    Not,
    Operator,
    Phrase,
    Prefix,
    Query,
    Word,
    parse,
)

SHORT: Final = {Operator.AND: "+", Operator.OR: "|"}


def shown(query: Query) -> str:
    """Write a tree so that it can be compared at a glance."""
    match query:
        case Combined(operator, operands):
            return "(" + SHORT[operator].join(map(shown, operands)) + ")"
        case Not(operand):
            return "-" + shown(operand)
        case Phrase(text):
            return f'"{text}"'
        case Prefix(text):
            return f"{text}*"
        case Word(text):
            return text
        case MatchAll():
            return "ALL"
        case MatchNone():
            return "NONE"


def parsed(text: str, default: Operator = Operator.OR) -> str:
    return shown(parse(text, default, lambda part: bool(terms(part))))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "ALL"),
        (" * ", "ALL"),
        ("a", "a"),
        ("a b +c", "((a|b)+c)"),
        ("a +b c", "((a+b)|c)"),
        ("a +| b", "(a+b)"),
        ("+a", "a"),
        ("-a", "-a"),
        ("--a", "a"),
        ("a -b", "(a|-b)"),
        ("a-b", "a-b"),
        ('"a b" c', '("a b"|c)'),
        ('"a b', "(a|b)"),
        ('""', "NONE"),
        ("ab*", "ab*"),
        ("a*b", "a*b"),
        ("a *", "a"),
        ("a + (b | c)", "(a+(b|c))"),
        ("-(a b)", "-(a|b)"),
        ("(a", "a"),
        ("()", "NONE"),
        ('("a ) b" c)', '("a ) b"|c)'),
        (r"a\+b", "a+b"),
        ("a\\", "a"),
        ("!!! ???", "NONE"),
    ],
)
def test_trees(text: str, expected: str) -> None:
    assert parsed(text) == expected


def test_the_search_mode_is_the_default_operator() -> None:
    assert parsed("a b -c", Operator.AND) == "(a+b+-c)"
    assert parsed("a b | c", Operator.AND) == "((a+b)|c)"


def test_an_escaped_star_is_no_prefix() -> None:
    assert parse(r"ab\*", Operator.OR, lambda _: True) == Word("ab*")
    assert parse("ab*", Operator.OR, lambda _: True) == Prefix("ab")


@pytest.mark.parametrize(
    "text",
    [
        "a" * (SEARCH_CHARACTERS + 1),
        "a " * (SEARCH_CLAUSES + 1),
        "a" * (PREFIX_CHARACTERS + 1) + "*",
        "(" * (NESTING + 1) + "a" + ")" * (NESTING + 1),
        "(" * (NESTING + 1),
        "a" + "+b|c" * NESTING,
        "a" * 40_000,
    ],
    ids=["text", "clauses", "prefix", "groups", "open groups", "operators", "term"],
)
def test_limits(text: str) -> None:
    with pytest.raises(SearchError) as caught:
        parsed(text)
    assert caught.value.status == 400


def test_as_many_clauses_as_allowed() -> None:
    assert parsed("a " * SEARCH_CLAUSES).count("a") == SEARCH_CLAUSES
