"""As much of the Kusto query language as the alerts and the workbook use, and an error for everything else.

Operators: where, extend, project, summarize … by. An expression has Python's syntax but for time spans and names of
columns. As in Kusto, a comparison with null is never true, and the quotient of two whole numbers is whole.
"""

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

Row = Mapping[str, Any]
Column = tuple[str, ast.expr]
EPOCH = datetime.fromtimestamp(0, UTC)
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class KqlError(Exception):
    """The query uses something that the evaluator does not support."""


def run(query: str, tables: Mapping[str, Sequence[Row]]) -> list[dict[str, Any]]:
    """Return the rows. Raises KqlError, also for a column that none of the rows has ever had."""
    table, *steps = (" ".join(step.split()) for step in re.sub(r"//[^\n]*", "", query).split("|"))
    if table not in tables:
        raise KqlError(f"there is no table {table}")
    rows = [dict(row) for row in tables[table]]
    for step in steps:
        name, _, text = step.partition(" ")
        if name == "where":
            ((_, condition),) = _columns(text)
            rows = [row for row in rows if _value(condition, row)]
        elif name == "extend":
            for column, value in _columns(text):
                rows = [{**row, column: _value(value, row)} for row in rows]
        elif name == "project":
            columns = _columns(text)
            rows = [{column: _value(value, row) for column, value in columns} for row in rows]
        elif name == "summarize":
            rows = _summarize(text, rows)
        else:
            raise KqlError(f"the operator {name} is not supported")
    return rows


def properties_of(query: str) -> set[str]:
    """The members of Properties that the query reads."""
    return set(re.findall(r"\bProperties\.(\w+)", query))


def metrics_of(query: str) -> set[str]:
    """The names of metrics that the query compares with."""
    return set(re.findall(r'"(memnet\.[\w.]+)"', query))


def _columns(text: str) -> list[Column]:
    """`Name = expression, …`; one without a name has that of its column, or of bin's first argument."""
    text = re.sub(r"\b(\d+)([smhd])\b", r'timespan(\1, "\2")', text)
    text = re.sub(r"(?<![=!<>])=(?!=)", ":=", text)
    try:
        parsed = ast.parse(f"[{text}]", mode="eval").body
    except SyntaxError as error:
        raise KqlError(f"cannot read {text!r}") from error
    assert isinstance(parsed, ast.List)
    found: list[Column] = []
    for one in parsed.elts:
        if isinstance(one, ast.NamedExpr):
            found.append((one.target.id, one.value))
        else:
            named = one.args[0] if isinstance(one, ast.Call) else one
            found.append((ast.unparse(named), one))
    return found


def _summarize(text: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    aggregates, _, keys = text.partition(" by ")
    by = _columns(keys)
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {} if by else {(): []}
    for row in rows:
        groups.setdefault(tuple(_value(value, row) for _, value in by), []).append(row)
    found = []
    for key, members in groups.items():
        made = dict(zip((name for name, _ in by), key, strict=True))
        for name, aggregate in _columns(aggregates):
            value = _value(aggregate, members)
            made |= value if isinstance(value, dict) else {name: value}
        found.append(made)
    return found


def _value(of: ast.expr, row: Row | list[dict[str, Any]]) -> Any:
    """What an expression is for a row, or one of aggregates for the rows of a group."""
    match of:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if isinstance(row, Mapping):
            if name not in row:
                raise KqlError(f"there is no column {name}")
            return row[name]
        case ast.Attribute(value=inner, attr=member):
            return _value(inner, row).get(member)
        case ast.Call(func=ast.Name(id=name), args=arguments) if isinstance(row, list) and name in _AGGREGATES:
            return _AGGREGATES[name](row, *arguments)
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(one, row) for one in arguments))
    return _combined(of, row)


def _combined(of: ast.expr, row: Row | list[dict[str, Any]]) -> Any:
    match of:
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_value(one, row) for one in values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_value(one, row) for one in values)
        case ast.Compare(left=left, ops=[ast.In()], comparators=[ast.Tuple(elts=wanted)]):
            return _value(left, row) in [_value(one, row) for one in wanted]
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in _SIGNS:
            return _both(_SIGNS[type(sign)], _value(left, row), _value(right, row))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _SIGNS:
            return _both(_SIGNS[type(sign)], _value(left, row), _value(right, row))
    raise KqlError(f"{ast.unparse(of)} is not supported")


def _both(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Null, if one of them is."""
    return None if left is None or right is None else function(left, right)


def _quotient(left: Any, right: Any) -> Any:
    if not right:
        raise KqlError("it divides by 0")
    return left // right if isinstance(left, int) and isinstance(right, int) else left / right


def _whole(value: Any) -> int | None:
    try:
        return None if value is None else int(value)
    except ValueError:
        return None


def _each(rows: list[dict[str, Any]], of: ast.expr) -> list[Any]:
    return [value for row in rows if (value := _value(of, row)) is not None]


def _percentiles(rows: list[dict[str, Any]], column: ast.expr, *wanted: ast.expr) -> dict[str, Any]:
    """One column for each percentage: the least value that so many percent of the values do not exceed."""
    found = sorted(_each(rows, column))
    made = {}
    for percentage in (_value(one, {}) for one in wanted):
        nearest = found[max(0, -(-percentage * len(found) // 100) - 1)] if found else None
        made[f"percentile_{ast.unparse(column)}_{percentage}"] = nearest
    return made


_SIGNS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.GtE: operator.ge,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.Lt: operator.lt,
    ast.Mult: operator.mul,
    ast.Div: _quotient,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "tostring": lambda value: "" if value is None else str(value),
    "toint": _whole,
    "strcat": lambda *parts: "".join(map(str, parts)),
    "timespan": lambda number, unit: timedelta(**{UNITS[unit]: number}),
    "bin": lambda time, size: EPOCH + (time - EPOCH) // size * size,
}
_AGGREGATES: Mapping[str, Callable[..., Any]] = {
    "count": len,
    "sum": lambda rows, of: sum(_each(rows, of)),
    "sumif": lambda rows, of, condition: sum(_each([row for row in rows if _value(condition, row)], of)),
    "max": lambda rows, of: max(_each(rows, of), default=None),
    "percentiles": _percentiles,
}
