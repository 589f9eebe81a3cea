"""Which places a schema has: asked when profiles are loaded, because their rules name places by JSON Pointer."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from jsonschema_rs import Draft202012Validator, RegexOptions, Resolver

from memnet.domain.catalog.schema_walk import ANNOTATIONS, REFERENCES
from memnet.domain.core.json_patch import pointer
from memnet.domain.core.scope import Json

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
    """A subschema, and the resolver that its references are relative to."""

    resolver: Resolver
    schema: Json


class Shape:
    """The places of one schema. A place is there if the schema declares it, not merely tolerates it.

    An object with `properties` and without `additionalProperties` tolerates every other member, so a misspelt
    rule would name a place that no document ever has; only an object that declares nothing at all is free-form.
    """

    def __init__(self, resolver: Resolver, body: Json) -> None:
        self._root = Place(resolver, body)

    def has(self, path: str) -> bool:
        """Whether the pointer leads somewhere; "*" stands for any segment, "-" for the end of an array."""
        return bool(self._at(pointer(path)))

    def has_array(self, path: str) -> bool:
        """Whether the pointer leads to a value that can only be an array."""
        return any(_only(ARRAY, place, frozenset()) for place in self._at(pointer(path)))

    def has_number(self, path: str) -> bool:
        """Whether the pointer leads to a value that can only be a number."""
        return any(_only(NUMBER, place, frozenset()) for place in self._at(pointer(path)))

    def choices(self, path: str) -> list[Json]:
        """The values of the enums that the pointer leads to; empty if there is none."""
        found = [inner.schema for place in self._at(pointer(path)) for inner in _expand(place, set())]
        return [value for schema in found if isinstance(schema, dict) for value in schema.get("enum", ())]

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
    """Yield the schema and all that it refers to or combines."""
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
