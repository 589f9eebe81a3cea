"""The type of an expression: string, int, bool, object, array, null, or None where it is unknown."""

from collections.abc import Callable
from typing import Any, Final

from tree_sitter import Node

from local.infra_check.syntax import Declaration, parts, text
from local.infra_check.values import UNKNOWN, NoSuchMember, Scope, evaluate

_RESULTS: Final = {
    "bool": "bool contains empty endsWith startsWith",
    "string": (
        "cidrSubnet format guid join loadTextContent readEnvironmentVariable replace resourceId string "
        "subscriptionResourceId substring toLower toUpper trim uniqueString"
    ),
    "": "concat fail json loadJsonContent take union",
    "object": "environment resourceGroup subscription tenant toObject",
    "array": "filter flatten items map range split",
    "int": "int length max min",
}
FUNCTIONS: Final = {name: kind or None for kind, names in _RESULTS.items() for name in names.split()}
"""The functions that the templates may use, and the type of each result; None: it depends on the arguments."""
READING_KEYS: Final = ("listKeys", "listAccountSas", "listServiceSas", "listSecrets", "listConnectionStrings")
"""Functions that exist and have a finding of their own."""
_LOGIC = frozenset({"==", "!=", "<", ">", "<=", ">=", "&&", "||", "=~", "!~"})
_OF_TYPES = {
    "string": "string",
    "number": "int",
    "boolean": "bool",
    "object": "object",
    "array": "array",
    "null": "null",
}


def of_value(value: Any) -> str | None:
    """Return the type of a known value."""
    if value is UNKNOWN:
        return None
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    return next((kind for kind, python in _PYTHON.items() if isinstance(value, python)), None)


_PYTHON: dict[str, type] = {"string": str, "int": int, "object": dict, "array": list}


def of_declared(kind: Node | None) -> str | None:
    """Return the kind of a declared type."""
    if kind is None:
        return None
    inner = parts(kind)
    if not inner:
        return text(kind) if text(kind) in _PYTHON or text(kind) == "bool" else None
    if inner[0].type == "array_type":
        return "array"
    if inner[0].type == "union_type":
        return _OF_TYPES.get(parts(inner[0])[0].type)
    return of_declared(inner[0]) if inner[0].type != "nullable_type" else None


def infer(node: Node, scope: Scope) -> str | None:
    """Return the type of an expression."""
    if node.type in _OF_TYPES:
        return _OF_TYPES[node.type]
    reader = _READERS.get(node.type)
    found = reader(node, scope) if reader is not None else None
    if found is not None:
        return found
    try:
        return of_value(evaluate(node, scope))
    except NoSuchMember:
        return None


def _identifier(node: Node, scope: Scope) -> str | None:
    if text(node) in scope.local:
        return None
    declared = scope.source.named(text(node))
    if declared is None:
        return None
    if declared.kind == "param":
        return of_declared(declared.type)
    if declared.kind == "var" and declared.value is not None:
        return infer(declared.value, Scope(scope.source))
    return "array" if declared.loop is not None else "object"


def _member(node: Node, scope: Scope) -> str | None:
    whole, name = parts(node)
    declared = resource_of(whole, scope)
    return "string" if declared is not None and text(name) in ("id", "name", "type", "location") else None


def resource_of(node: Node, scope: Scope) -> Declaration | None:
    """Return the resource that an expression refers to, or None for everything else."""
    if node.type == "subscript_expression":
        declared = scope.source.named(text(parts(node)[0]))
        return declared if declared is not None and declared.loop is not None else None
    if node.type == "resource_expression":
        return scope.source.named(text(parts(node)[-1]))
    if node.type != "identifier" or text(node) in scope.local:
        return None
    declared = scope.source.named(text(node))
    return declared if declared is not None and declared.kind == "resource" and declared.loop is None else None


def _call(node: Node, scope: Scope) -> str | None:
    name, *groups = parts(node)
    if text(name) in ("concat", "union", "take"):
        kinds = {infer(argument, scope) for group in groups for argument in parts(group)}
        return kinds.pop() if len(kinds) == 1 else None
    return FUNCTIONS.get(text(name))


def _binary(node: Node, scope: Scope) -> str | None:
    operator = next(text(child) for child in node.children if not child.is_named)
    if operator in _LOGIC:
        return "bool"
    left, right = parts(node)
    return infer(right, scope) if operator == "??" else infer(left, scope)


def _ternary(node: Node, scope: Scope) -> str | None:
    _, yes, no = parts(node)
    kinds = {infer(yes, scope), infer(no, scope)} - {"null"}
    return kinds.pop() if len(kinds) == 1 else None


def _unary(node: Node, _scope: Scope) -> str | None:
    return "bool" if text(node).startswith("!") else "int"


def _group(node: Node, scope: Scope) -> str | None:
    return infer(parts(node)[0], scope)


def _for(_node: Node, _scope: Scope) -> str | None:
    return "array"


_READERS: dict[str, Callable[[Node, Scope], str | None]] = {
    "identifier": _identifier,
    "member_expression": _member,
    "call_expression": _call,
    "binary_expression": _binary,
    "ternary_expression": _ternary,
    "unary_expression": _unary,
    "parenthesized_expression": _group,
    "for_statement": _for,
}
