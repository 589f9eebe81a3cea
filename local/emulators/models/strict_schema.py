"""What structured output takes of JSON Schema in strict mode: "Structured outputs" in Azure OpenAI's documentation.

Azure takes less than OpenAI itself; what passes here passes at both.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MAX_DEPTH: Final = 5
MAX_PROPERTIES: Final = 100
TYPES: Final = frozenset({"string", "number", "boolean", "integer", "object", "array", "null"})
KNOWN: Final = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref", "$defs"}
    | {"description", "title"}
)


def problem(name: Any, schema: Any) -> str | None:
    """Say what a service would refuse the schema for; None: nothing."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        return "the name must match ^[a-zA-Z0-9_-]{1,64}$"
    if not isinstance(schema, dict) or schema.get("type") != "object" or "anyOf" in schema:
        return "schema must be a JSON Schema of 'type: \"object\"'"
    if sum(len(node.get("properties", {})) for _, node in _nodes(schema)) > MAX_PROPERTIES:
        return f"a schema may have up to {MAX_PROPERTIES} object properties"
    if any(depth > MAX_DEPTH for depth, _ in _nodes(schema)):
        return f"a schema may nest up to {MAX_DEPTH} levels"
    found = [told for _, node in _nodes(schema) if (told := _node_problem(node))]
    return found[0] if found else None


def _node_problem(node: dict[str, Any]) -> str | None:
    unknown = sorted(node.keys() - KNOWN)
    if unknown:
        return f"'{unknown[0]}' is not permitted"
    if not node.keys() & {"type", "anyOf", "$ref", "enum", "const"}:
        return "schema must have a 'type' key"
    types = node["type"] if isinstance(node.get("type"), list) else [node.get("type", "null")]
    if not set(types) <= TYPES:
        return f"{node['type']!r} is not valid under any of the given schemas"
    if "array" in types and "items" not in node:
        return "array schema missing items"
    if "object" in types:
        return _object_problem(node)
    return None


def _object_problem(node: dict[str, Any]) -> str | None:
    if node.get("additionalProperties") is not False:
        return "'additionalProperties' is required to be supplied and to be false"
    if sorted(node.get("required", [])) != sorted(node.get("properties", {})):
        return "'required' is required to be supplied and to be an array including every key in properties"
    return None


def _nodes(schema: dict[str, Any], depth: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    """The schema and those within it, with how many objects and arrays they lie in, themselves included."""
    if {"properties", "items"} & schema.keys():
        depth += 1
    yield depth, schema
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ()), *schema.get("$defs", {}).values()]
    for one in [*inner, *([schema["items"]] if "items" in schema else [])]:
        yield from _nodes(one, depth)
