"""Read a Bicep file into its declarations; expressions stay nodes of the parser."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from posixpath import dirname, join, normpath

import tree_sitter_bicep
from tree_sitter import Language, Node, Parser

from local.infra_check.finding import Finding
from local.infra_check.tree import Tree

PARSER = Parser(Language(tree_sitter_bicep.language()))
_PARAM_FILE_LINE = re.compile(rb"^param ", re.MULTILINE)


def text(node: Node) -> str:
    """Return the text of a node."""
    return (node.text or b"").decode()


def line(node: Node) -> int:
    """Return the line of a node, counted from 1."""
    return int(node.start_point[0]) + 1


def parts(node: Node) -> list[Node]:
    """Return the named children, without comments."""
    return [child for child in node.named_children if child.type != "comment"]


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and all nodes below it."""
    yield node
    for child in parts(node):
        yield from walk(child)


def walk_from(node: Node, around: Node | None = None) -> Iterator[tuple[Node, Node | None]]:
    """Yield the same nodes, each with its parent; the parser's own `parent` misses some."""
    yield node, around
    for child in parts(node):
        yield from walk_from(child, node)


def literal(node: Node) -> str | None:
    """Return the text of a string without interpolation, or None for everything else."""
    if node.type != "string" or any(child.type == "interpolation" for child in node.named_children):
        return None
    return "".join(text(child) for child in node.named_children)


def members(node: Node) -> Iterator[tuple[str | None, Node, Node]]:
    """Yield the members of an object: name (None if computed), value, and the whole member."""
    for member in parts(node):
        if member.type == "object_property" and len(parts(member)) == 2:
            key, value = parts(member)
            yield (literal(key) if key.type == "string" else text(key)), value, member


def member(node: Node, name: str) -> Node | None:
    """Return the value of one member of an object."""
    return next((value for key, value, _ in members(node) if key == name), None)


@dataclass(frozen=True, slots=True)
class Declaration:
    """A parameter, a variable, an output, a resource or a module."""

    kind: str
    name: str
    node: Node
    decorators: dict[str, list[Node]] = field(default_factory=dict)
    type: Node | None = None
    """The declared type of a parameter or an output."""
    value: Node | None = None
    """A parameter's default, a variable's or an output's value, a resource's or a module's body."""
    loop: Node | None = None
    """The for statement around the body."""
    condition: Node | None = None
    """The condition of its deployment."""
    target: str = ""
    """A resource's type or a module's path."""
    version: str = ""
    """A resource's API version."""
    existing: bool = False
    nested_in: str = ""
    """The name of the resource around it."""

    @property
    def line(self) -> int:
        """The line of its start."""
        return line(self.node)


class Source:
    """One file of a tree. `problems` lists what cannot be read."""

    def __init__(self, tree: Tree, name: str) -> None:
        self.tree = tree
        self.name = name
        self.is_template = name.endswith(".bicep")
        parsed = _parse(name, tree.text(name))
        self.root, self.declarations, self._by_name = parsed

    def resolve(self, name: str) -> str:
        """Return the path in the tree of a file that this one refers to."""
        return normpath(join(dirname(self.name), name))

    def of(self, *kinds: str) -> list[Declaration]:
        """Return the declarations of these kinds."""
        return [declared for declared in self.declarations if declared.kind in kinds]

    def named(self, name: str) -> Declaration | None:
        """Return the declaration of a name; outputs have a separate namespace."""
        return self._by_name.get(name)

    @cached_property
    def problems(self) -> list[Finding]:
        """A finding for every syntax error."""
        if not self.root.has_error:
            return []
        broken = [node for node in _everything(self.root) if node.is_error or node.is_missing]
        places = sorted({line(node) for node in broken or [self.root]})
        return [Finding(self.name, place, "syntax", "this is not Bicep") for place in places]


@cache
def _parse(name: str, written: str) -> tuple[Node, list[Declaration], dict[str, Declaration]]:
    """Parse a text, cached: return its root, its declarations, and the declarations by name.

    Nested resources follow their parents. Outputs have a separate namespace.
    """
    data = written.encode()
    if name.endswith(".bicepparam"):
        # The grammar has no parameter files; their assignments look like those of variables.
        data = _PARAM_FILE_LINE.sub(b"var   ", data)
    root = PARSER.parse(data).root_node
    found: list[Declaration] = []
    decorators: dict[str, list[Node]] = {}
    for node in parts(root):
        if node.type == "decorators":
            decorators = _decorators(node)
            continue
        if node.type in _READERS and not root.has_error:
            found += _READERS[node.type](node, decorators)
        decorators = {}
    return root, found, {one.name: one for one in reversed(found) if one.kind != "output"}


def _everything(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _everything(child)


def _decorators(node: Node) -> dict[str, list[Node]]:
    found = {}
    for decorator in parts(node):
        for call in parts(decorator):
            name, *arguments = parts(call)
            found[text(name)] = [argument for group in arguments for argument in parts(group)]
    return found


def _named(kind: str) -> Callable[[Node, dict[str, list[Node]]], list[Declaration]]:
    """Return the reader of a parameter or an output: a name, a type, perhaps a value."""

    def read(node: Node, decorators: dict[str, list[Node]]) -> list[Declaration]:
        name, declared, *value = parts(node)
        return [Declaration(kind, text(name), node, decorators, declared, value[-1] if value else None)]

    return read


def _var(node: Node, decorators: dict[str, list[Node]]) -> list[Declaration]:
    name, *value = parts(node)
    return [Declaration("var", text(name), node, decorators, None, value[-1] if value else None)]


def _module(node: Node, decorators: dict[str, list[Node]]) -> list[Declaration]:
    name, path, *rest = parts(node)
    body, loop, condition = _body(rest[-1]) if rest else (None, None, None)
    return [Declaration("module", text(name), node, decorators, None, body, loop, condition, literal(path) or "")]


def _resource(node: Node, decorators: dict[str, list[Node]], around: Declaration | None = None) -> list[Declaration]:
    name, kind, *rest = parts(node)
    target, _, version = (literal(kind) or "").partition("@")
    if around is not None:
        target, version = f"{around.target}/{target}", version or around.version
    body, loop, condition = _body(rest[-1]) if rest else (None, None, None)
    existing = any(text(child) == "existing" for child in node.children)
    nested_in = around.name if around is not None else ""
    declared = Declaration(
        "resource", text(name), node, decorators, None, body, loop, condition, target, version, existing, nested_in
    )
    found = [declared]
    for child in parts(body) if body is not None else []:
        for inner in parts(child):
            if inner.type == "resource_declaration":
                found += _resource(inner, {}, declared)
    return found


def _body(node: Node) -> tuple[Node | None, Node | None, Node | None]:
    """Return the object below a condition or a loop, the loop, and the condition."""
    loop = condition = None
    while node.type in ("if_statement", "for_statement", "array"):
        loop = node if node.type == "for_statement" else loop
        condition = parts(node)[0] if node.type == "if_statement" else condition
        node = parts(node)[-1]
    return (node if node.type == "object" else None), loop, condition


_READERS = {
    "parameter_declaration": _named("param"),
    "variable_declaration": _var,
    "output_declaration": _named("output"),
    "module_declaration": _module,
    "resource_declaration": _resource,
}
