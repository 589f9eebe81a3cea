"""Walk the subschemas of a JSON Schema document, each with its pointer."""

import re
from collections.abc import Iterator

from memnet.domain.core.json_patch import pointer_text
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
    """The pointer and the subschema that a fragment names: by anchor, or by JSON Pointer; None: there is none.

    A pointer is percent-encoded (RFC 6901, section 6). The empty fragment names the document.
    """
    if fragment and not fragment.startswith("/"):
        named = ((at, s) for at, s in walk(document) if fragment in (s.get("$anchor"), s.get("$dynamicAnchor")))
        return next(named, None)
    if not _FRAGMENT.fullmatch(fragment):
        return None
    # Bytes that are not UTF-8 become surrogates, which no name in a schema has.
    octets = _OCTET.sub(lambda match: bytes.fromhex(match[1].decode()), fragment.encode())
    wanted = octets.decode(errors="surrogateescape")
    return next(((at, schema) for at, schema in places(document) if at == wanted), None)


def walk(schema: Json, segments: tuple[str, ...] = ()) -> Iterator[tuple[str, dict[str, Json]]]:
    """Yield (pointer, subschema) for the document and every schema object in it; boolean schemas are left out."""
    return ((place, part) for place, part in places(schema, segments) if isinstance(part, dict))


def places(schema: Json, segments: tuple[str, ...] = ()) -> Iterator[tuple[str, dict[str, Json] | bool]]:
    """Yield (pointer, subschema) for the document and every schema in it, object or boolean.

    Only keywords that hold schemas are entered: a "$ref" among the values of `const` or `enum` is data. A keyword
    whose value is not of its kind is passed over.
    """
    if not isinstance(schema, dict | bool):
        return
    yield pointer_text(segments), schema
    if isinstance(schema, dict):
        for place, part in _parts(schema):
            yield from places(part, (*segments, *place))


def _parts(schema: dict[str, Json]) -> Iterator[tuple[tuple[str, ...], Json]]:
    for keyword in ONE:
        if keyword in schema:
            yield (keyword,), schema[keyword]
    for keyword in LISTED:
        if isinstance(schema.get(keyword), list):
            yield from (((keyword, str(index)), part) for index, part in enumerate(schema[keyword]))
    for keyword in NAMED:
        if isinstance(schema.get(keyword), dict):
            yield from (((keyword, name), part) for name, part in schema[keyword].items())
