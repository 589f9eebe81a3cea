"""Walk a schema, and find the pointers that it declares, which the rules of profiles refer to."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from types import NoneType
from typing import Any

from jsonschema_rs import Draft202012Validator, RegexOptions, Resolver

from memnet.domain.core.json_patch import pointer, pointer_text
from memnet.domain.core.scope import Json

ONE = (
    "items",
    "contains",
    "additionalProperties",
    "propertyNames",
    "if",
    "then",
    "else",
    "not",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
)
LISTED = ("allOf", "anyOf", "oneOf", "prefixItems")
NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs")
REFERENCES = ("$ref", "$dynamicRef")
ANNOTATIONS = frozenset(
    {"$comment", "$anchor", "$defs", "title", "description", "default", "deprecated", "readOnly", "writeOnly"}
    | {"examples", "contentEncoding", "contentMediaType"}
)
ASSERTIONS = frozenset(
    {"type", "const", "enum", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"}
    | {"maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains"}
    | {"maxProperties", "minProperties", "required", "dependentRequired", "format"}
)
IDENTITY = frozenset({"$schema", "$id", "$vocabulary", "$dynamicAnchor"})
KEYWORDS = ANNOTATIONS | ASSERTIONS | IDENTITY | {*ONE, *LISTED, *NAMED, *REFERENCES}
"""The keywords of Draft 2020-12. What starts with "x-" is an author's own."""

_FRAGMENT = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9A-Fa-f]{2})*")
"""RFC 3986, section 3.5."""
_OCTET = re.compile(rb"%([0-9A-Fa-f]{2})")


def find(fragment: str, document: Json) -> tuple[str, dict[str, Json] | bool] | None:
    """Return pointer and subschema of a fragment (an anchor or a percent-encoded JSON Pointer), or None."""
    if fragment and not fragment.startswith("/"):
        named = ((at, s) for at, s in walk(document) if fragment in (s.get("$anchor"), s.get("$dynamicAnchor")))
        return next(named, None)
    if not _FRAGMENT.fullmatch(fragment):
        return None
    # Bytes that are not UTF-8 become surrogates, which no name in a schema has.
    octets = _OCTET.sub(lambda match: bytes.fromhex(match[1].decode()), fragment.encode())
    wanted = octets.decode(errors="surrogateescape")
    found = _descend(document, wanted)
    return None if found is None else (wanted, found)


def _descend(schema: Json, pointer: str) -> dict[str, Json] | bool | None:
    """Return the schema at a pointer, or None. Only the way to it is read: a schema refers to places often."""
    if not pointer:
        return schema if isinstance(schema, dict | bool) else None
    if isinstance(schema, dict):
        for place, part in _subparts(schema):
            step = pointer_text(place)
            if f"{pointer}/".startswith(f"{step}/"):
                found = _descend(part, pointer.removeprefix(step))
                if found is not None:
                    return found
    return None


def walk(schema: Json, segments: tuple[str, ...] = ()) -> Iterator[tuple[str, dict[str, Json]]]:
    """Yield (pointer, subschema) for the document and every schema object in it."""
    return ((place, part) for place, part in places(schema, segments) if isinstance(part, dict))


def places(schema: Json, segments: tuple[str, ...] = ()) -> Iterator[tuple[str, dict[str, Json] | bool]]:
    """Yield (pointer, subschema) for the document and every schema in it, object or boolean.

    Only keywords that hold schemas are entered: a "$ref" among the values of `const` or `enum` is data.
    """
    if not isinstance(schema, dict | bool):
        return
    yield pointer_text(segments), schema
    if isinstance(schema, dict):
        for place, part in _subparts(schema):
            yield from places(part, (*segments, *place))


def _subparts(schema: dict[str, Json]) -> Iterator[tuple[tuple[str, ...], Json]]:
    for keyword in ONE:
        if keyword in schema:
            yield (keyword,), schema[keyword]
    for keyword in LISTED:
        if isinstance(schema.get(keyword), list):
            yield from (((keyword, str(index)), part) for index, part in enumerate(schema[keyword]))
    for keyword in NAMED:
        if isinstance(schema.get(keyword), dict):
            yield from (((keyword, name), part) for name, part in schema[keyword].items())


ANY_SEGMENT = "*"
APPEND = "-"
INDEX = re.compile("0|[1-9][0-9]*", re.ASCII)
ALTERNATIVES = ("allOf", "anyOf", "oneOf")
COMBINING = frozenset({*REFERENCES, *ALTERNATIVES, "if", "then", "else", "dependentSchemas"})
MEMBERS = frozenset({"properties", "patternProperties", "additionalProperties", "unevaluatedProperties"})
ITEMS = frozenset({"prefixItems", "items", "unevaluatedItems"})
ARRAY = frozenset({"array"})
NUMBER = frozenset({"number", "integer"})


@dataclass(frozen=True, slots=True)
class Place:
    """A subschema and the resolver for its references."""

    resolver: Resolver
    schema: Json


class Shape:
    """The pointers that a schema declares, which is more than to allow them.

    An object with `properties` and without `additionalProperties` allows every other member, so a misspelt rule would
    match nothing in any document. Only an object that declares nothing is free-form.
    """

    def __init__(self, resolver: Resolver, body: Json) -> None:
        self._root = Place(resolver, body)

    def has(self, path: str) -> bool:
        """Whether the pointer is declared; "*" is any segment, "-" the end of an array."""
        return bool(self._at(pointer(path)))

    def has_array(self, path: str) -> bool:
        """Whether the value at the pointer must be an array."""
        return any(_only(ARRAY, place, frozenset()) for place in self._at(pointer(path)))

    def has_number(self, path: str) -> bool:
        """Whether the value at the pointer must be a number."""
        return any(_only(NUMBER, place, frozenset()) for place in self._at(pointer(path)))

    def types(self, path: str) -> set[str]:
        """Return the types at the pointer: those that are named, and those of the values of enums without one."""
        found = [inner.schema for place in self._at(pointer(path)) for inner in _expand(place, set())]
        return {name for schema in found if isinstance(schema, dict) for name in _types(schema)}

    def choices(self, path: str) -> list[Json]:
        """Return the values of the enums at the pointer."""
        found = [inner.schema for place in self._at(pointer(path)) for inner in _expand(place, set())]
        return [value for schema in found if isinstance(schema, dict) for value in schema.get("enum", ())]

    def required(self, path: str) -> list[str]:
        """Return the members that an object at the pointer must have, in order."""
        found = [inner.schema for place in self._at(pointer(path)) for inner in _expand(place, set())]
        return sorted({name for schema in found if isinstance(schema, dict) for name in schema.get("required", ())})

    def _at(self, segments: Sequence[str]) -> list[Place]:
        places = [self._root]
        for segment in segments:
            places = [child for place in places for child in _children(place, segment)]
        return [place for place in places if place.schema is not False]


def _children(place: Place, segment: str) -> list[Place]:
    alternatives = list(_expand(place, set()))
    if alternatives and all(_is_open(alternative.schema) for alternative in alternatives):
        return [Place(place.resolver, True)]
    return [
        Place(alternative.resolver, child)
        for alternative in alternatives
        if isinstance(alternative.schema, dict)
        for child in chain(_members(alternative.schema, segment), _items(alternative.schema, segment))
        if child is not False
    ]


def _expand(place: Place, seen: set[tuple[str, str]]) -> Iterator[Place]:
    """Yield the schema and all schemas that it refers to or combines."""
    schema = place.schema
    if not isinstance(schema, dict):
        yield place
        return
    if schema.keys() - ANNOTATIONS - {*REFERENCES, *ALTERNATIVES} or _is_open(schema):
        yield place
    for keyword in REFERENCES:
        if keyword in schema and (place.resolver.base_uri, schema[keyword]) not in seen:
            seen.add((place.resolver.base_uri, schema[keyword]))
            yield from _expand(_follow(place, schema[keyword]), seen)
    for part in chain(_parts(schema), (schema[k] for k in ("then", "else") if k in schema)):
        yield from _expand(Place(place.resolver, part), seen)
    for part in schema.get("dependentSchemas", {}).values():
        yield from _expand(Place(place.resolver, part), seen)


def _parts(schema: dict[str, Any]) -> Iterator[Json]:
    return chain.from_iterable(schema.get(keyword, ()) for keyword in ALTERNATIVES)


def _follow(place: Place, reference: str) -> Place:
    resolved = place.resolver.lookup(reference)
    return Place(resolved.resolver, resolved.contents)


def _is_open(schema: Json) -> bool:
    if not isinstance(schema, dict):
        return schema is True
    return all(keyword in ANNOTATIONS or keyword.startswith("x-") for keyword in schema)


def _members(schema: dict[str, Any], segment: str) -> Iterator[Json]:
    if not _permits(schema, "object"):
        return
    declared = {name: part for name, part in schema.get("properties", {}).items() if segment in (name, ANY_SEGMENT)}
    patterned = [part for p, part in schema.get("patternProperties", {}).items() if _named_by(segment, p)]
    yield from declared.values()
    yield from patterned
    if not (declared or patterned) or segment == ANY_SEGMENT:
        yield schema.get("additionalProperties", False)
        yield schema.get("type") == "object" and not schema.keys() & (MEMBERS | COMBINING)


def _named_by(segment: str, pattern: str) -> bool:
    if segment == ANY_SEGMENT:
        return True
    return Draft202012Validator({"pattern": pattern}, pattern_options=RegexOptions()).is_valid(segment)


def _items(schema: dict[str, Any], segment: str) -> Iterator[Json]:
    if not _permits(schema, "array"):
        return
    fixed = schema.get("prefixItems", [])
    any_items = schema.get("type") == "array" and not schema.keys() & (ITEMS | COMBINING)
    rest = schema.get("items", bool(fixed) or any_items)
    if segment == ANY_SEGMENT:
        yield from fixed
        yield rest
    elif segment == APPEND:
        yield rest
    elif INDEX.fullmatch(segment):
        yield fixed[int(segment)] if int(segment) < len(fixed) else rest


def _types(schema: dict[str, Any]) -> list[str]:
    if "type" not in schema:
        return [_JSON_TYPES[type(value)] for value in schema.get("enum", ())]
    return [schema["type"]] if isinstance(schema["type"], str) else list(schema["type"])


_JSON_TYPES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    NoneType: "null",
    dict: "object",
    list: "array",
}


def _permits(schema: dict[str, Any], kind: str) -> bool:
    types = schema.get("type", kind)
    return kind == types or kind in types


def _only(types: frozenset[str], place: Place, seen: frozenset[tuple[str, str]]) -> bool:
    schema = place.schema
    if not isinstance(schema, dict):
        return False
    declared = schema.get("type", [])
    if declared and types.issuperset([declared] if isinstance(declared, str) else declared):
        return True
    for keyword in REFERENCES:
        if keyword in schema and (place.resolver.base_uri, schema[keyword]) not in seen:
            key = (place.resolver.base_uri, schema[keyword])
            if _only(types, _follow(place, schema[keyword]), seen | {key}):
                return True
    inner = {k: [_only(types, Place(place.resolver, s), seen) for s in schema.get(k, ())] for k in ALTERNATIVES}
    return any(inner["allOf"]) or any(inner[k] and all(inner[k]) for k in ("anyOf", "oneOf"))
