"""Check every resource against Azure's schema: its version, and missing, unknown, read-only and mistyped properties."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace

from tree_sitter import Node

from local.infra_check.expression_types import infer, resource_of
from local.infra_check.finding import Finding
from local.infra_check.schemas import PRIMITIVES, Schema, is_read_only, is_required, words
from local.infra_check.syntax import Declaration, Source, line, literal, members, parts, text, walk_from
from local.infra_check.values import UNKNOWN, NoSuchMember, Scope, evaluate, iterations, unknown_round

Load = Callable[[str], Schema | None]
_BICEPS_OWN = frozenset({"parent", "scope", "dependsOn"})
_WRITTEN_OTHERWISE = frozenset({"apiVersion", "type"})
_MERGES = ("union",)


@dataclass(frozen=True)
class _Place:
    """The location of a value, for findings about it."""

    source: Source
    schema: Schema
    path: str
    is_part: bool = False
    """Whether other parts may have the properties that are missing in this one."""

    def below(self, name: str) -> "_Place":
        return replace(self, path=f"{self.path}.{name}", is_part=False)

    def finding(self, node: Node, code: str, message: str) -> Finding:
        return Finding(self.source.name, line(node), code, f"{self.path}: {message}")


def check_resources(source: Source, load: Load) -> Iterator[Finding]:
    """Return findings about the resources of one file, and about the properties that are read."""
    for declared in source.of("resource"):
        schema = load(declared.target)
        if schema is None:
            message = f"{declared.target or 'this'} is no resource type with a cached schema"
            yield Finding(source.name, declared.line, "unknown-resource", message)
            continue
        if declared.version != schema.version:
            message = f"{declared.target}@{declared.version} is not the pinned version, {schema.version}"
            yield Finding(source.name, declared.line, "api-version", message)
        yield from _resource(source, declared, schema)
    yield from _reads(source, load)


def _resource(source: Source, declared: Declaration, schema: Schema) -> Iterator[Finding]:
    place = _Place(source, schema, declared.name, is_part=declared.existing)
    if declared.value is None:
        yield place.finding(declared.node, "missing-property", "it has no body")
        return
    body: str | None = schema.body
    if schema.discriminator(schema.body) is not None:
        body = yield from _variant(declared.value, schema.body, place)
    for scope in _rounds(source, declared) if body else ():
        yield from _object(declared.value, body or "", place, scope, ignored=_BICEPS_OWN)


def _rounds(source: Source, declared: Declaration) -> list[Scope]:
    """Return the scope of each iteration of a resource's loop, or of any one if they are unknown."""
    scope = Scope(source)
    if declared.loop is None:
        return [scope]
    return iterations(declared.loop, scope) or [unknown_round(declared.loop, scope)]


def _object(
    node: Node, kind: str, place: _Place, scope: Scope, ignored: frozenset[str] = frozenset()
) -> Iterator[Finding]:
    known = place.schema.properties(kind)
    if known is None:
        yield place.finding(node, "schema-missing", f"the cache does not hold {kind}: refresh it")
        return
    others = place.schema.others(kind)
    given = set()
    for name, value, whole in members(node):
        given.add(name)
        if name in ignored:
            continue
        described = known.get(name or "")
        if described is None and others is not None:
            yield from check_value(value, others, place.below(name or text(parts(whole)[0])), scope)
        elif described is None:
            yield place.finding(whole, "unknown-property", f"{kind} has no property {name or text(parts(whole)[0])}")
        elif is_read_only(described):
            yield place.finding(whole, "read-only", f"{name} is set by Azure alone")
        else:
            yield from check_value(value, described[0], place.below(name or ""), scope)
    missing = {name for name, described in known.items() if is_required(described)} - given - _WRITTEN_OTHERWISE
    if not place.is_part:
        yield from (place.finding(node, "missing-property", f"{name} is required") for name in sorted(missing))


def _variant(node: Node, kind: str, place: _Place) -> Generator[Finding, None, str | None]:
    """Return the object type by its discriminator, as the generator's value."""
    discriminator = place.schema.discriminator(kind)
    word = next((value for name, value, _ in members(node) if name == discriminator), None)
    found = place.schema.variant(kind, literal(word)) if word is not None else None
    if found is None:
        message = f"{discriminator} has to be one of {', '.join(sorted(place.schema.types[kind]['variants']))}"
        yield place.finding(word or node, "wrong-value", message)
    return found


def check_value(node: Node, kind: str, place: _Place, scope: Scope) -> Iterator[Finding]:
    """Return findings about one value of a type."""
    if kind == "any":
        return
    reader = _READERS.get(node.type)
    if reader is not None:
        yield from reader(node, kind, place, scope)
    elif node.type == "object" and place.schema.is_object(kind):
        yield from _object_of_kind(node, kind, place, scope)
    else:
        yield from _plain(node, kind, place, scope)


def _object_of_kind(node: Node, kind: str, place: _Place, scope: Scope) -> Iterator[Finding]:
    found: str | None = kind
    if place.schema.discriminator(kind) is not None:
        found = yield from _variant(node, kind, place)
    if found:
        yield from _object(node, found, place, scope)


def _group(node: Node, kind: str, place: _Place, scope: Scope) -> Iterator[Finding]:
    yield from check_value(parts(node)[0], kind, place, scope)


def _ternary(node: Node, kind: str, place: _Place, scope: Scope) -> Iterator[Finding]:
    for branch in parts(node)[1:]:
        yield from check_value(branch, kind, place, scope)


def _array(node: Node, kind: str, place: _Place, scope: Scope) -> Iterator[Finding]:
    if not kind.endswith("[]"):
        yield place.finding(node, "wrong-type", f"an array where {kind} is expected")
        return
    for i, item in enumerate(parts(node)):
        if item.type == "for_statement":
            yield from check_value(parts(item)[-1], kind[:-2], place, unknown_round(item, scope))
        else:
            yield from check_value(item, kind[:-2], replace(place, path=f"{place.path}[{i}]", is_part=False), scope)


def _call(node: Node, kind: str, place: _Place, scope: Scope) -> Iterator[Finding]:
    name, *groups = parts(node)
    arguments = [argument for group in groups for argument in parts(group)]
    if text(name) == "concat" or (text(name) in _MERGES and place.schema.is_object(kind)):
        for argument in arguments:
            yield from check_value(argument, kind, replace(place, is_part=True), scope)
    elif text(name) == "map" and kind.endswith("[]") and arguments[-1].type == "lambda_expression":
        variable, body = parts(arguments[-1])
        yield from check_value(body, kind[:-2], place, scope.with_local(**{text(variable): UNKNOWN}))
    else:
        yield from _plain(node, kind, place, scope)


def _identifier(node: Node, kind: str, place: _Place, scope: Scope) -> Iterator[Finding]:
    declared = None if text(node) in scope.local else scope.source.named(text(node))
    if declared is not None and declared.kind == "var" and declared.value is not None:
        yield from check_value(declared.value, kind, place, Scope(scope.source))
    else:
        yield from _plain(node, kind, place, scope)


_READERS = {
    "parenthesized_expression": _group,
    "ternary_expression": _ternary,
    "array": _array,
    "call_expression": _call,
    "identifier": _identifier,
}


def _plain(node: Node, kind: str, place: _Place, scope: Scope) -> Iterator[Finding]:
    found = infer(node, scope)
    expected = _expected(kind, place.schema)
    if found not in (None, "null", expected):
        yield place.finding(node, "wrong-type", f"{found} where {expected} is expected")
        return
    allowed = words(kind)
    if allowed and not place.schema.is_object(kind):
        yield from _word(node, allowed, place, scope)


def _expected(kind: str, schema: Schema) -> str:
    if kind.endswith("[]"):
        return "array"
    if schema.is_object(kind):
        return "object"
    return kind if kind in PRIMITIVES else "string"


def _word(node: Node, allowed: list[str], place: _Place, scope: Scope) -> Iterator[Finding]:
    try:
        value = evaluate(node, scope)
    except NoSuchMember:
        return  # reported by the check of symbols
    if isinstance(value, str) and value not in allowed:
        yield place.finding(node, "wrong-value", f"{value!r} is none of {', '.join(allowed)}")


def _reads(source: Source, load: Load) -> Iterator[Finding]:
    """Check that each property that is read exists."""
    for declared in source.of("resource", "var", "module", "output", "param"):
        for node, around in walk_from(declared.node):
            is_inner = around is not None and around.type == "member_expression"
            if node.type == "member_expression" and not is_inner and not declared.nested_in:
                yield from _read(node, source, load)


def _read(node: Node, source: Source, load: Load) -> Iterator[Finding]:
    names: list[Node] = []
    whole = node
    while whole.type in ("member_expression", "subscript_expression") and resource_of(whole, Scope(source)) is None:
        whole, name = parts(whole)
        names.insert(0, name)
    declared = resource_of(whole, Scope(source))
    schema = load(declared.target) if declared is not None else None
    if declared is None or schema is None or schema.discriminator(schema.body) is not None:
        return
    place = _Place(source, schema, declared.name)
    kind = schema.body
    for name in names:
        if name.type != "property_identifier":
            kind = kind.removesuffix("[]")
            continue
        known = schema.properties(kind) if schema.is_object(kind) else None
        if known is None:
            return
        if text(name) not in known:
            yield place.finding(name, "unknown-property", f"{kind} has no property {text(name)}")
            return
        kind = known[text(name)][0]
