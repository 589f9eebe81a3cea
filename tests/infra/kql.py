"""As much of the Kusto query language as the alerts and the workbook use, and an error for everything else.

Operators: where, extend, project, summarize … by. Values: null, numbers, text, booleans, times and time spans. As in
Kusto, a comparison with null is never true, and the quotient of two whole numbers is whole.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

Row = Mapping[str, Any]
Expression = Callable[[Row], Any]
EPOCH = datetime.fromtimestamp(0, UTC)
SPANS = {"s": timedelta(seconds=1), "m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)|(?P<span>\d+[smhd]\b)|(?P<number>\d+(?:\.\d+)?)|(?P<text>"[^"\\]*"|'[^'\\]*')"""
    r"""|(?P<name>[A-Za-z_]\w*)|(?P<sign>==|!=|>=|<=|[|()<>=,.+*/-])"""
)


class KqlError(Exception):
    """The query uses something that the evaluator does not support."""


@dataclass(frozen=True)
class Token:
    """A piece of the text."""

    kind: str
    text: str


def tokens(query: str) -> list[Token]:
    """Raises KqlError."""
    found, at = [], 0
    while at < len(query):
        match = TOKEN.match(query, at)
        if match is None:
            raise KqlError(f"cannot read {query[at : at + 20]!r}")
        at = match.end()
        if match.lastgroup != "space":
            found.append(Token(str(match.lastgroup), match.group()))
    return found


def run(query: str, tables: Mapping[str, Sequence[Row]]) -> list[dict[str, Any]]:
    """Return the rows. Raises KqlError, also for a column that none of the rows has ever had."""
    reader = _Reader(tokens(query))
    name = reader.take("name").text
    if name not in tables:
        raise KqlError(f"there is no table {name}")
    rows = [dict(row) for row in tables[name]]
    while reader.skip("|"):
        operator = reader.take("name").text
        step = {"where": _where, "extend": _extend, "project": _project, "summarize": _summarize}.get(operator)
        if step is None:
            raise KqlError(f"the operator {operator} is not supported")
        rows = step(reader, rows)
    reader.end()
    return rows


def properties_of(query: str) -> set[str]:
    """The members of Properties that the query reads."""
    found = tokens(query)
    return {
        after.text
        for before, dot, after in zip(found, found[1:], found[2:], strict=False)
        if (before.text, dot.text) == ("Properties", ".")
    }


def metrics_of(query: str) -> set[str]:
    """The names of metrics that the query compares with."""
    return {token.text[1:-1] for token in tokens(query) if token.kind == "text" and token.text[1:8] == "memnet."}


class _Reader:
    def __init__(self, found: Sequence[Token]) -> None:
        self._found = found
        self._at = 0
        self.aggregates = False
        """Whether aggregates are understood here: an expression then takes a group's rows."""

    def peek(self) -> Token:
        return self._found[self._at] if self._at < len(self._found) else Token("end", "")

    def take(self, kind: str) -> Token:
        token = self.peek()
        if token.kind != kind:
            raise KqlError(f"expected a {kind} at {token.text!r}")
        self._at += 1
        return token

    def skip(self, *texts: str) -> str | None:
        token = self.peek()
        if token.kind in ("sign", "name") and token.text in texts:
            self._at += 1
            return token.text
        return None

    def expect(self, text: str) -> None:
        if not self.skip(text):
            raise KqlError(f"expected {text!r} at {self.peek().text!r}")

    def end(self) -> None:
        if self.peek().kind != "end":
            raise KqlError(f"{self.peek().text!r} is not supported")

    def named(self) -> Iterator[tuple[str, Expression]]:
        """`Name = expression, …`; one without a name has that of its column, or of bin's first argument."""
        while True:
            start = self._at
            name = self.take("name").text
            if not self.skip("="):
                self._at = start
                name = self._found[start + 2].text if name == "bin" else name
            yield name, self.expression()
            if not self.skip(","):
                return

    def expression(self) -> Expression:
        left = self._all()
        while self.skip("or"):
            left = _both(left, self._all(), lambda a, b: bool(a) or bool(b), strict=False)
        return left

    def _all(self) -> Expression:
        left = self._comparison()
        while self.skip("and"):
            left = _both(left, self._comparison(), lambda a, b: bool(a) and bool(b), strict=False)
        return left

    def _comparison(self) -> Expression:
        left = self._sum()
        if self.skip("in"):
            self.expect("(")
            wanted = [self._sum()]
            while self.skip(","):
                wanted.append(self._sum())
            self.expect(")")
            return lambda row: left(row) in [each(row) for each in wanted]
        sign = self.skip("==", "!=", ">=", "<=", ">", "<")
        return left if sign is None else _both(left, self._sum(), _COMPARISONS[sign])

    def _sum(self) -> Expression:
        left = self._product()
        while sign := self.skip("+", "-"):
            left = _both(left, self._product(), _SUMS[sign])
        return left

    def _product(self) -> Expression:
        left = self._value()
        while sign := self.skip("*", "/"):
            left = _both(left, self._value(), _SUMS[sign])
        return left

    def _value(self) -> Expression:
        token = self.peek()
        if self.skip("("):
            inner = self.expression()
            self.expect(")")
            return inner
        self._at += 1
        match token.kind:
            case "text":
                return _constant(token.text[1:-1])
            case "number":
                return _constant(float(token.text) if "." in token.text else int(token.text))
            case "span":
                return _constant(int(token.text[:-1]) * SPANS[token.text[-1]])
            case "name":
                return self._call(token.text) if self.skip("(") else self._column(token.text)
        raise KqlError(f"{token.text!r} is not supported")

    def _column(self, name: str) -> Expression:
        if self.skip("."):
            member = self.take("name").text
            return lambda row: _get(row, name).get(member)
        return lambda row: _get(row, name)

    def _call(self, name: str) -> Expression:
        if self.aggregates and name == "percentiles":
            return self._percentiles()
        inner = self.aggregates and name in _AGGREGATES
        if inner:
            self.aggregates = False
        arguments: list[Expression] = []
        while not self.skip(")"):
            arguments.append(self.expression())
            if not self.skip(","):
                self.expect(")")
                break
        if inner:
            self.aggregates = True
            return _aggregate(name, arguments)
        if name not in _FUNCTIONS:
            raise KqlError(f"the function {name} is not supported")
        return lambda row: _FUNCTIONS[name](*(argument(row) for argument in arguments))

    def _percentiles(self) -> Expression:
        """One column for each percentage, `percentile_<column>_<percentage>`."""
        column = self.take("name").text
        wanted = []
        while self.skip(","):
            wanted.append(int(self.take("number").text))
        self.expect(")")

        def value(group: Row) -> Any:
            found = sorted(each for row in group[_GROUP] if (each := _get(row, column)) is not None)
            return {f"percentile_{column}_{one}": _nearest(found, one) for one in wanted}

        return value


def _where(reader: _Reader, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    holds = reader.expression()
    return [row for row in rows if holds(row)]


def _extend(reader: _Reader, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for name, value in list(reader.named()):
        rows = [{**row, name: value(row)} for row in rows]
    return rows


def _project(reader: _Reader, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    columns = list(reader.named())
    return [{name: value(row) for name, value in columns} for row in rows]


def _summarize(reader: _Reader, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    reader.aggregates = True
    columns = list(reader.named())
    reader.aggregates = False
    by = list(reader.named()) if reader.skip("by") else []
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {} if by else {(): []}
    for row in rows:
        groups.setdefault(tuple(value(row) for _, value in by), []).append(row)
    return [
        {**dict(zip((name for name, _ in by), key, strict=True)), **_columns(columns, members)}
        for key, members in groups.items()
    ]


def _columns(columns: Sequence[tuple[str, Expression]], members: list[dict[str, Any]]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, value in columns:
        found = value({_GROUP: members})
        row |= found if isinstance(found, dict) else {name: found}
    return row


def _nearest(found: Sequence[Any], percentage: int) -> Any:
    """The least value that so many percent of them do not exceed."""
    return found[max(0, -(-percentage * len(found) // 100) - 1)] if found else None


_GROUP = "the rows of a group"


def _get(row: Row, name: str) -> Any:
    if name not in row:
        raise KqlError(f"there is no column {name}")
    return row[name]


def _constant(value: Any) -> Expression:
    return lambda _: value


def _both(left: Expression, right: Expression, of: Callable[[Any, Any], Any], *, strict: bool = True) -> Expression:
    """Null, if one of them is; unless it is not `strict`."""

    def value(row: Row) -> Any:
        found = left(row), right(row)
        return None if strict and None in found else of(*found)

    return value


def _aggregate(name: str, arguments: Sequence[Expression]) -> Expression:
    counted = _AGGREGATES[name]
    if len(arguments) != counted:
        raise KqlError(f"{name} takes {counted} arguments")

    def value(group: Row) -> Any:
        rows: list[Row] = group[_GROUP]
        if name == "count":
            return len(rows)
        if name == "countif":
            return sum(1 for row in rows if arguments[0](row))
        if name == "sumif":
            rows = [row for row in rows if arguments[1](row)]
        found = [each for row in rows if (each := arguments[0](row)) is not None]
        if name in ("sum", "sumif"):
            return sum(found)
        if not found:
            return None
        return sum(found) / len(found) if name == "avg" else max(found) if name == "max" else min(found)

    return value


def _quotient(left: Any, right: Any) -> Any:
    if not right:
        raise KqlError("it divides by 0")
    return left // right if isinstance(left, int) and isinstance(right, int) else left / right


def _whole(value: Any) -> int | None:
    try:
        return None if value is None else int(value)
    except ValueError:
        return None


def _bin(value: Any, size: Any) -> Any:
    if isinstance(value, datetime):
        return EPOCH + (value - EPOCH) // size * size
    return None if value is None else value // size * size


_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
}
_SUMS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _quotient,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "tostring": lambda value: "" if value is None else str(value),
    "toint": _whole,
    "strcat": lambda *parts: "".join(map(str, parts)),
    "bin": _bin,
}
_AGGREGATES = {"count": 0, "countif": 1, "sum": 1, "sumif": 2, "max": 1, "min": 1, "avg": 1}
"""The number of arguments of each."""
