"""A filter's syntax tree against the index: fields exist and are filterable, constants fit.

What comes out is a predicate over typed columns. Anything Azure refuses is 400 here, anything only the emulator lacks
is 501. Sources: "OData comparison operators" and "Troubleshooting OData collection filters in Azure AI Search".
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from local.emulators.search import filter_syntax as syntax
from local.emulators.search.errors import SearchError, bad_expression, not_supported
from local.emulators.search.schema import EdmType, Field
from local.emulators.search.values import SPECIAL_FLOATS, parse_time


@dataclass(frozen=True)
class Always:
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True)
class Compare:
    """A field or an element against a constant; the constant of a time is its milliseconds."""

    field: str
    operator: str
    constant: str | int | float | bool


@dataclass(frozen=True)
class IsNull:
    """The field has no value, or the collection no element."""

    field: str


@dataclass(frozen=True)
class OneOf:
    """`search.in`, or an `any` over strings: the field, or one of its elements, is among the values."""

    field: str
    values: frozenset[str]


@dataclass(frozen=True)
class Inverse:
    """`not`."""

    operand: "Predicate"


@dataclass(frozen=True)
class Every:
    """`and`."""

    operands: tuple["Predicate", ...]


@dataclass(frozen=True)
class Some:
    """`or`."""

    operands: tuple["Predicate", ...]


Predicate = Always | Compare | IsNull | OneOf | Inverse | Every | Some

_MIRRORED: Final = {"gt": "lt", "lt": "gt", "ge": "le", "le": "ge", "eq": "eq", "ne": "ne"}
_LITERALS: Final = {
    EdmType.STRING: {"string"},
    EdmType.BOOLEAN: {"boolean"},
    EdmType.DATE_TIME_OFFSET: {"time"},
    EdmType.INT32: {"integer", "float"},
    EdmType.INT64: {"integer", "float"},
    EdmType.DOUBLE: {"integer", "float"},
}
_LACKING: Final = {"search.ismatch", "search.ismatchscoring", "geo.distance", "geo.intersects"}


def compile_filter(text: str, fields: Mapping[str, Field]) -> Predicate:
    """Read and check a filter. Raises SearchError: 400, or 501 for functions the emulator lacks."""
    return _Compiler(fields, None, "").compile(syntax.parse(text))


class _Compiler:
    """Compiles a whole filter, or the body of a lambda when there is an element."""

    def __init__(self, fields: Mapping[str, Field], element: Field | None, variable: str) -> None:
        self._fields = fields
        self._element = element
        self._variable = variable

    def compile(self, node: syntax.Node) -> Predicate:
        match node:
            case syntax.Junction(operator, operands):
                compiled = tuple(self.compile(operand) for operand in operands)
                return Every(compiled) if operator == "and" else Some(compiled)
            case syntax.Negation(operand):
                return Inverse(self.compile(operand))
            case syntax.Comparison():
                return self._comparison(node)
            case syntax.Quantified():
                return self._quantified(node)
            case syntax.Call():
                return self._call(node)
            case syntax.Path(name):
                return self._flag(name)
            case syntax.Literal("boolean", text):
                return Always(text == "true")
        raise _refused("The filter must be a Boolean expression.")

    def _resolve(self, name: str) -> Field:
        """Return the field of a path that is no collection, or the element behind the range variable."""
        if self._element is not None:
            if name != self._variable:
                raise _refused(
                    f"'{name}' is not bound to the range variable '{self._variable}'. Only bound field references "
                    "are supported inside lambda expressions ('any' or 'all')."
                )
            return self._element
        field = self._filterable(name)
        if field.collection:
            raise _refused(f"The collection '{name}' can only be filtered with 'any' or 'all'.")
        return field

    def _filterable(self, name: str) -> Field:
        field = self._fields.get(name)
        if field is None:
            raise _refused(f"Could not find a property named '{name}' on type 'search.document'.", "UnknownField")
        if not field.filterable:
            raise _refused(
                f"'{name}' is not a filterable field. Only filterable fields can be used in filter expressions.",
                "NonFilterableFieldInFilter",
            )
        return field

    def _flag(self, name: str) -> Predicate:
        field = self._resolve(name)
        if field.type is not EdmType.BOOLEAN:
            raise _refused(f"'{name}' is of type '{field.type}', and a filter must be a Boolean expression.")
        return Compare(field.name, "eq", True)

    def _comparison(self, node: syntax.Comparison) -> Predicate:
        match node.left, node.right:
            case syntax.Path(name), syntax.Literal() as literal:
                return self._compared(name, node.operator, literal)
            case syntax.Literal() as literal, syntax.Path(name):
                return self._compared(name, _MIRRORED[node.operator], literal)
            case syntax.Call() as call, syntax.Literal("boolean", text) if node.operator in ("eq", "ne"):
                found = self._call(call)
                return found if (text == "true") == (node.operator == "eq") else Inverse(found)
            case syntax.Call() as call, _:
                self._call(call)
        raise _refused("Comparison must be between a field, range variable or function call and a literal value.")

    def _compared(self, name: str, operator: str, literal: syntax.Literal) -> Predicate:
        field = self._resolve(name)
        if literal.kind == "null":
            return self._null(field, operator)
        if field.type not in _LITERALS or literal.kind not in _LITERALS[field.type]:
            raise _refused(
                f"A binary operator with incompatible types was detected. Found operand types '{field.type}' and "
                f"'{literal.kind}' for operator kind '{operator}'."
            )
        if field.type in (EdmType.STRING, EdmType.BOOLEAN) and operator not in ("eq", "ne"):
            raise _refused(f"The operator '{operator}' is not supported for the type '{field.type}' ('{name}').")
        return Compare(field.name, operator, _constant(field, literal))

    def _null(self, field: Field, operator: str) -> Predicate:
        if self._element is not None:
            raise _refused("Elements of a collection are never null.")
        if operator not in ("eq", "ne"):
            raise _refused(f"null cannot be compared with '{operator}'.")
        return IsNull(field.name) if operator == "eq" else Inverse(IsNull(field.name))

    def _call(self, node: syntax.Call) -> Predicate:
        if node.function in _LACKING:
            raise not_supported(f"the function {node.function} in a filter")
        if node.function != "search.in":
            raise _refused(f"An unknown function with name '{node.function}' was found.")
        match node.arguments:
            case (syntax.Path(name), syntax.Literal("string", values)):
                delimiters = " ,"
            case (syntax.Path(name), syntax.Literal("string", values), syntax.Literal("string", delimiters)):
                pass
            case _:
                raise _refused("search.in takes a string field, a list of values in one string, and delimiters.")
        field = self._resolve(name)
        if field.type is not EdmType.STRING:
            raise _refused(f"search.in works on strings; '{name}' is of type '{field.type}'.")
        return OneOf(field.name, frozenset(_split(values, delimiters)))

    def _quantified(self, node: syntax.Quantified) -> Predicate:
        if self._element is not None:
            raise _refused("A lambda expression over a collection of simple values cannot hold another one.")
        field = self._filterable(node.field)
        if not field.collection:
            raise _refused(f"'{node.field}' is not a collection; 'any' and 'all' need one.")
        if node.body is None:
            return Inverse(IsNull(field.name))
        if node.variable in self._fields:
            raise _refused(f"The range variable '{node.variable}' has the name of a field.")
        if node.quantifier == "all" or field.type is not EdmType.STRING:
            raise not_supported("in a filter 'all', and 'any' over anything but strings,")
        return OneOf(field.name, _wanted(_Compiler(self._fields, field, node.variable).compile(node.body)))


def _constant(field: Field, literal: syntax.Literal) -> str | int | float | bool:
    if literal.kind == "string":
        return literal.text
    if literal.kind == "boolean":
        return literal.text == "true"
    if literal.kind == "time":
        try:
            return parse_time(literal.text)
        except (ValueError, OverflowError):
            raise _refused(f"'{literal.text}' is not a date and time.") from None
    if literal.kind == "integer" and len(literal.text) <= 20:
        return float(literal.text) if field.type is EdmType.DOUBLE else int(literal.text)
    return _float(field, literal.text)


def _float(field: Field, text: str) -> float:
    if text in SPECIAL_FLOATS and field.type is EdmType.DOUBLE:
        return SPECIAL_FLOATS[text]
    if text in SPECIAL_FLOATS or math.isinf(float(text)):
        raise _refused(f"{text} cannot be compared with a field of type '{field.type}'.")
    return float(text)


def _split(text: str, delimiters: str) -> list[str]:
    for delimiter in delimiters[1:]:
        text = text.replace(delimiter, delimiters[0])
    return [value for value in text.split(delimiters[0]) if value] if delimiters else [text]


def _wanted(body: Predicate) -> frozenset[str]:
    """Return the strings that an `any` looks for."""
    match body:
        case Compare(_, "eq", constant):
            return frozenset({str(constant)})
        case OneOf(_, values):
            return values
        case Some(operands):
            return frozenset().union(*map(_wanted, operands))
    raise _refused(
        "Invalid lambda expression. For 'any' over a field of type Collection(Edm.String), use expressions of the form "
        "'x eq y' or 'search.in(...)', joined by 'or'."
    )


def _refused(message: str, detail: str = "InvalidFilter") -> SearchError:
    return bad_expression(message, "$filter", detail=detail)
