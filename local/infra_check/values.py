"""Evaluate expressions as far as the files determine them: parameters and Azure's responses are UNKNOWN.

With a `world`, parameters, resources and modules are known; `plan` makes such worlds.
"""

import json
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tree_sitter import Node

from local.infra_check.functions import COMPUTED
from local.infra_check.syntax import Source, members, parts, text


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown()
"""A value that only a deployment has."""


class NoSuchMember(Exception):
    """A known value has no such member; the message names it."""


class Symbol(ABC):
    """A resource, a module, or a value that Azure returns; its members are evaluated one by one."""

    @abstractmethod
    def pick(self, key: Any) -> Any:
        """Return the member. Raises NoSuchMember."""


@dataclass(frozen=True)
class Scope:
    """The meaning of names: the declarations of a file, and the variables of enclosing loops and lambdas."""

    source: Source
    local: Mapping[str, Any] = field(default_factory=dict)
    world: dict[str, Any] | None = None
    """The parameters, resources and modules of the file; None: unknown."""
    environment: Mapping[str, str] | None = None
    """The environment variables of a parameter file; None: unknown."""

    def with_local(self, **names: Any) -> "Scope":
        """Return the scope inside of a loop or a lambda."""
        return replace(self, local={**self.local, **names})


def evaluate(node: Node, scope: Scope) -> Any:
    """Return the value: JSON, perhaps with UNKNOWN in it, or UNKNOWN. Raises NoSuchMember."""
    reader = _READERS.get(node.type)
    return UNKNOWN if reader is None else reader(node, scope)


def _string(node: Node, scope: Scope) -> Any:
    pieces = []
    for child in node.named_children:
        value = evaluate(parts(child)[0], scope) if child.type == "interpolation" else text(child)
        if value is UNKNOWN:
            return UNKNOWN
        pieces.append(str(value))
    return "".join(pieces)


def _identifier(node: Node, scope: Scope) -> Any:
    name = text(node)
    if name in scope.local:
        return scope.local[name]
    if scope.world is not None and name in scope.world:
        return scope.world[name]
    declared = scope.source.named(name)
    if declared is None or declared.kind != "var" or declared.value is None:
        return UNKNOWN
    found = evaluate(declared.value, replace(scope, local={}))
    if scope.world is not None:
        scope.world[name] = found
    return found


def _object(node: Node, scope: Scope) -> Any:
    found = {}
    for key, value, whole in members(node):
        name = key if key is not None else evaluate(parts(whole)[0], scope)
        if isinstance(name, str):
            found[name] = evaluate(value, scope)
    return found


def _array(node: Node, scope: Scope) -> Any:
    items = parts(node)
    if len(items) == 1 and items[0].type == "for_statement":
        return _loop(items[0], scope)
    return [evaluate(item, scope) for item in items]


def _loop(node: Node, scope: Scope) -> Any:
    scopes = iterations(node, scope)
    return UNKNOWN if scopes is None else [evaluate(parts(node)[-1], inner) for inner in scopes]


def iterations(node: Node, scope: Scope) -> list[Scope] | None:
    """Return the scopes of a for statement's iterations, or None if their number is unknown."""
    variable, items, *_ = parts(node)
    found = evaluate(items, scope)
    names = [text(name) for name in parts(variable)] or [text(variable)]
    if not isinstance(found, list):
        return None
    return [scope.with_local(**dict(zip(names, (item, i), strict=False))) for i, item in enumerate(found)]


def unknown_round(node: Node, scope: Scope) -> Scope:
    """Return the scope of any iteration of a for statement."""
    variable = parts(node)[0]
    return scope.with_local(**{text(name): UNKNOWN for name in parts(variable) or [variable]})


def _member(node: Node, scope: Scope) -> Any:
    whole, name = parts(node)
    ternary = _ternary_before(node)
    if ternary is not None and evaluate(parts(ternary)[0], scope) is True:
        return evaluate(parts(ternary)[1], scope)
    return _pick(evaluate(whole, scope), text(name), safe=_is_safe(node))


def _ternary_before(node: Node) -> Node | None:
    """Return the ternary before a member: the parser reads `a ? b : c!.d` as a member of the whole expression."""
    while node.type == "member_expression":
        node = parts(node)[0]
    return node if node.type == "ternary_expression" else None


def _subscript(node: Node, scope: Scope) -> Any:
    whole, index = parts(node)
    return _pick(evaluate(whole, scope), evaluate(index, scope), safe=_is_safe(node))


def _is_safe(node: Node) -> bool:
    return any("?" in text(child) for child in node.children if not child.is_named)


def _pick(whole: Any, key: Any, *, safe: bool) -> Any:
    if isinstance(whole, Symbol):
        return whole.pick(key)
    if not isinstance(whole, dict | list) or key is UNKNOWN:
        return UNKNOWN
    try:
        return whole[key]
    except (KeyError, IndexError, TypeError):
        if safe:
            return None
        raise NoSuchMember(f"there is no {key!r} in it") from None


def _ternary(node: Node, scope: Scope) -> Any:
    condition, yes, no = parts(node)
    decided = evaluate(condition, scope)
    if decided is UNKNOWN:
        return UNKNOWN
    return evaluate(yes if decided else no, scope)


def _unary(node: Node, scope: Scope) -> Any:
    value = evaluate(parts(node)[0], scope)
    if value is UNKNOWN:
        return UNKNOWN
    return not value if text(node).startswith("!") else -value


def _binary(node: Node, scope: Scope) -> Any:
    """Evaluate both sides, unless the first one decides."""
    left, right = parts(node)
    sign = next(text(child) for child in node.children if not child.is_named)
    first = evaluate(left, scope)
    if sign in _DECIDED and first is not UNKNOWN:
        return first if _DECIDED[sign](first) else evaluate(right, scope)
    second = UNKNOWN if sign in _DECIDED else evaluate(right, scope)
    return UNKNOWN if UNKNOWN in (first, second) or sign not in _SIGNS else _SIGNS[sign](first, second)


_DECIDED: Final[dict[str, Callable[[Any], bool]]] = {
    "&&": lambda value: not value,
    "||": bool,
    "??": lambda value: value is not None,
}
_SIGNS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
}


def _group(node: Node, scope: Scope) -> Any:
    return evaluate(parts(node)[0], scope)


def _call(node: Node, scope: Scope) -> Any:
    name, *groups = parts(node)
    function = _FUNCTIONS.get(text(name))
    arguments = [_argument(argument, scope) for group in groups for argument in parts(group)]
    if function is not None:
        return function(arguments, scope)
    if text(name) == "resourceGroup" and not arguments and scope.world is not None:
        return {"id": scope.world["$group"], "name": scope.world["$group"].rpartition("/")[2]}
    computed = COMPUTED.get(text(name))
    if computed is None or (scope.world is None and scope.environment is None) or UNKNOWN in arguments:
        return UNKNOWN
    return computed(*arguments)


def _argument(node: Node, scope: Scope) -> Any:
    if node.type != "lambda_expression":
        return evaluate(node, scope)
    variable, body = parts(node)
    return lambda value: evaluate(body, scope.with_local(**{text(variable): value}))


def _load(scope: Scope, name: Any) -> Any:
    path = scope.source.resolve(str(name))
    return scope.source.tree.text(path) if isinstance(name, str) and scope.source.tree.exists(path) else UNKNOWN


def _load_json(arguments: list[Any], scope: Scope) -> Any:
    found = _load(scope, arguments[0])
    return found if found is UNKNOWN else json.loads(found)


def _union(arguments: list[Any], _scope: Scope) -> Any:
    if all(isinstance(argument, list) for argument in arguments):
        return list(dict.fromkeys(item for argument in arguments for item in argument))
    if not all(isinstance(argument, dict) for argument in arguments):
        return UNKNOWN
    return {name: value for argument in arguments for name, value in argument.items()}


def _concat(arguments: list[Any], _scope: Scope) -> Any:
    if not all(isinstance(argument, list) for argument in arguments):
        return UNKNOWN
    return [item for argument in arguments for item in argument]


def _items(arguments: list[Any], _scope: Scope) -> Any:
    if not isinstance(arguments[0], dict):
        return UNKNOWN
    return [{"key": key, "value": value} for key, value in sorted(arguments[0].items())]


def _map(arguments: list[Any], _scope: Scope) -> Any:
    return [arguments[1](item) for item in arguments[0]] if isinstance(arguments[0], list) else UNKNOWN


def _to_object(arguments: list[Any], _scope: Scope) -> Any:
    items, key, *value = arguments
    if not isinstance(items, list):
        return UNKNOWN
    return {key(item): value[0](item) if value else item for item in items}


def _to_string(arguments: list[Any], _scope: Scope) -> Any:
    return arguments[0] if arguments[0] is UNKNOWN else str(arguments[0])


def _length(arguments: list[Any], _scope: Scope) -> Any:
    return len(arguments[0]) if isinstance(arguments[0], str | list | dict) else UNKNOWN


def _empty(arguments: list[Any], _scope: Scope) -> Any:
    return not arguments[0] if isinstance(arguments[0], str | list | dict) or arguments[0] is None else UNKNOWN


def _environment(arguments: list[Any], scope: Scope) -> Any:
    if scope.environment is not None:
        return scope.environment.get(arguments[0], arguments[1] if len(arguments) > 1 else UNKNOWN)
    return arguments[1] if len(arguments) > 1 and arguments[1] != "" else UNKNOWN


_FUNCTIONS: dict[str, Callable[[list[Any], Scope], Any]] = {
    "loadJsonContent": _load_json,
    "loadTextContent": lambda arguments, scope: _load(scope, arguments[0]),
    "union": _union,
    "concat": _concat,
    "items": _items,
    "map": _map,
    "toObject": _to_object,
    "string": _to_string,
    "length": _length,
    "empty": _empty,
    "readEnvironmentVariable": _environment,
}

_READERS: dict[str, Callable[[Node, Scope], Any]] = {
    "string": _string,
    "number": lambda node, _scope: int(text(node)),
    "boolean": lambda node, _scope: text(node) == "true",
    "null": lambda _node, _scope: None,
    "identifier": _identifier,
    "object": _object,
    "array": _array,
    "for_statement": _loop,
    "member_expression": _member,
    "subscript_expression": _subscript,
    "ternary_expression": _ternary,
    "unary_expression": _unary,
    "binary_expression": _binary,
    "parenthesized_expression": _group,
    "call_expression": _call,
}
