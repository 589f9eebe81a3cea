"""Names are declared once and used, used names are declared, and modules get their parameters."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from tree_sitter import Node

from local.infra_check.expression_types import FUNCTIONS, READING_KEYS, infer, of_declared
from local.infra_check.finding import Finding
from local.infra_check.syntax import Declaration, Source, line, literal, member, members, parts, text, walk, walk_from
from local.infra_check.values import UNKNOWN, NoSuchMember, Scope, evaluate, unknown_round

NAMESPACES = frozenset({"az", "sys"})
_LOADS = ("loadJsonContent", "loadTextContent")


def check_symbols(source: Source) -> Iterator[Finding]:
    """Findings about the names of one file."""
    counted = Counter(declared.name for declared in source.declarations if declared.kind != "output")
    for declared in source.declarations:
        if declared.kind != "output" and counted[declared.name] > 1:
            yield Finding(source.name, declared.line, "declared-twice", f"{declared.name} is declared before")
    used = {text(node) for node, around in walk_from(source.root) if _is_use(node, around)}
    for declared in source.of("param", "var"):
        if declared.name not in used and source.is_template:
            yield Finding(source.name, declared.line, "unused", f"{declared.kind} {declared.name} is never used")
    for declared in source.declarations:
        if not declared.nested_in:
            yield from _uses(source, declared.node, None, Scope(source))
    for declared in source.of("module"):
        yield from _module(source, declared)
    yield from _outputs(source)


def _is_use(node: Node, parent: Node | None) -> bool:
    """Return whether an identifier is an expression, not the name of a declaration, call or argument."""
    if node.type != "identifier" or parent is None or parent.type in ("decorator", "type", "for_loop_parameters"):
        return False
    first = parts(parent)[0] == node
    named_here = parent.type.endswith("_declaration") or parent.type in ("object_property", "call_expression")
    if parent.type == "object_property" and len(parts(parent)) == 1:
        return True
    return not (first and (named_here or parent.type in ("lambda_expression", "for_statement")))


def _uses(source: Source, node: Node, around: Node | None, scope: Scope) -> Iterator[Finding]:
    if node.type in ("decorators", "type"):
        return
    scope = _inside(node, scope)
    if _is_use(node, around):
        yield from _use(source, node, scope)
    if node.type == "call_expression":
        yield from _call(source, node)
    if node.type in ("member_expression", "subscript_expression"):
        yield from _member(source, node, scope)
    for child in parts(node):
        yield from _uses(source, child, node, scope)


def _inside(node: Node, scope: Scope) -> Scope:
    if node.type == "for_statement":
        return unknown_round(node, scope)
    if node.type == "lambda_expression":
        return scope.with_local(**{text(name): UNKNOWN for name in parts(node)[:-1]})
    return scope


def _use(source: Source, node: Node, scope: Scope) -> Iterator[Finding]:
    name = text(node)
    if name not in scope.local and name not in NAMESPACES and source.named(name) is None:
        yield Finding(source.name, line(node), "undefined", f"{name} is not declared")


def _call(source: Source, node: Node) -> Iterator[Finding]:
    name, *groups = parts(node)
    if name.type == "identifier" and text(name) not in FUNCTIONS and text(name) not in READING_KEYS:
        yield Finding(source.name, line(node), "undefined", f"the function {text(name)} is unknown")
    if text(name) in _LOADS:
        path = literal(parts(groups[0])[0])
        if path is None or not source.tree.exists(source.resolve(path)):
            yield Finding(source.name, line(node), "no-such-file", f"{path or 'what is loaded'} is not there")


def _member(source: Source, node: Node, scope: Scope) -> Iterator[Finding]:
    try:
        evaluate(node, scope)
    except NoSuchMember as error:
        yield Finding(source.name, line(node), "undefined", f"{text(node)}: {error}")


def _target(source: Source, declared: Declaration) -> Source | None:
    return source.tree.sources.get(source.resolve(declared.target))


def _module(source: Source, declared: Declaration) -> Iterator[Finding]:
    target = _target(source, declared)
    if target is None:
        yield Finding(source.name, declared.line, "no-such-file", f"the module {declared.target} is not there")
        return
    given = member(declared.value, "params") if declared.value is not None else None
    values = {} if given is None else {name: (value, whole) for name, value, whole in members(given) if name}
    scope = Scope(source) if declared.loop is None else unknown_round(declared.loop, Scope(source))
    wanted = {param.name: param for param in target.of("param")}
    for name, (value, whole) in values.items():
        if name not in wanted:
            message = f"{declared.target} has no parameter {name}"
            yield Finding(source.name, line(whole), "unknown-parameter", message)
        else:
            yield from check_argument(source, name, value, wanted[name], scope)
    missing = [name for name, param in wanted.items() if is_needed(param) and name not in values]
    for name in missing:
        yield Finding(source.name, declared.line, "missing-parameter", f"{declared.target} needs the parameter {name}")


def is_needed(param: Declaration) -> bool:
    """Whether a parameter has neither a default nor a type that takes null."""
    return param.value is None and param.type is not None and not text(param.type).endswith("?")


def check_argument(source: Source, name: str, value: Node, param: Declaration, scope: Scope) -> Iterator[Finding]:
    """Findings about one value that a parameter is given."""
    if value.type == "ternary_expression":
        for branch in parts(value)[1:]:
            yield from check_argument(source, name, branch, param, scope)
        return
    expected, found = of_declared(param.type), infer(value, scope)
    if expected is not None and found not in (None, expected):
        message = f"{name} is given {found}, and takes {expected}"
        yield Finding(source.name, line(value), "parameter-type", message)
        return
    try:
        known = evaluate(value, scope)
    except NoSuchMember:
        return  # reported by the check of symbols
    problem = outside(known, param, scope)
    if problem:
        yield Finding(source.name, line(value), "parameter-value", f"{name} is {known!r}, and {problem}")


def outside(value: Any, param: Declaration, scope: Scope) -> str | None:
    """Return why a parameter's decorators refuse a value, or None."""
    for decorator, arguments in param.decorators.items():
        if decorator == "allowed":
            allowed = [literal(item) for item in parts(arguments[0])]
            if isinstance(value, str) and value not in allowed:
                return f"has to be one of {', '.join(map(str, allowed))}"
        elif decorator in _BOUNDS and arguments:
            kind, measure, is_within, message = _BOUNDS[decorator]
            bound = evaluate(arguments[0], scope)
            if isinstance(value, kind) and not is_within(measure(value), bound):
                return f"{message} {bound}"
    return None


_BOUNDS: Final[dict[str, tuple[type, Callable[[Any], int], Callable[[int, int], bool], str]]] = {
    "minLength": (str, len, lambda size, bound: size >= bound, "its length is at least"),
    "maxLength": (str, len, lambda size, bound: size <= bound, "its length is at most"),
    "minValue": (int, int, lambda size, bound: size >= bound, "it is at least"),
    "maxValue": (int, int, lambda size, bound: size <= bound, "it is at most"),
}


def _outputs(source: Source) -> Iterator[Finding]:
    """Check that each output that is read exists."""
    for node in walk(source.root):
        if node.type != "member_expression":
            continue
        whole, name = parts(node)
        if whole.type != "member_expression" or text(parts(whole)[1]) != "outputs":
            continue
        root = parts(whole)[0]
        declared = source.named(text(parts(root)[0] if root.type == "subscript_expression" else root))
        target = _target(source, declared) if declared is not None and declared.kind == "module" else None
        if target is not None and text(name) not in {output.name for output in target.of("output")}:
            message = f"{declared.target if declared else ''} has no output {text(name)}"
            yield Finding(source.name, line(name), "unknown-output", message)
