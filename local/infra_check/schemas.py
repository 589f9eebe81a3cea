"""Azure's resource types, cached in schemas/: one JSON file per type, with the pinned API version.

A file holds `type`, `apiVersion`, `source` and `types`, the object types by name; `body` names the first one. A
property is `[type]` or `[type, flags]`, flags being some of R (required), O (set by Azure alone). A type is `string`,
`int`, `bool`, `any`, the name of an object type, `a | b` (one of these words; `| string` says that Azure may know
others), or any of these with `[]` appended. An object type that the templates do not use is null.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parent / "schemas"
PRIMITIVES = frozenset({"string", "int", "bool", "any"})


@dataclass(frozen=True)
class Schema:
    """One resource type."""

    type: str
    version: str
    source: str
    body: str
    types: Mapping[str, Any]
    used: set[str] = field(default_factory=set)
    """The object types that were read: those to cache."""

    def is_object(self, name: str) -> bool:
        """Return whether the name is an object type."""
        return name in self.types

    def properties(self, name: str) -> dict[str, list[str]] | None:
        """Return the properties of an object type, or None if it is not cached."""
        self.used.add(name)
        found = self.types[name]
        return None if found is None else dict(found.get("properties", {}))

    def others(self, name: str) -> str | None:
        """Return the type of additional properties, or None."""
        found = self.types[name]
        return None if found is None else found.get("others")

    def variant(self, name: str, word: str | None) -> str | None:
        """Return the object type for a discriminator's value, or None."""
        found: str | None = self.types[name]["variants"].get(word)
        return found

    def discriminator(self, name: str) -> str | None:
        """Return the property that selects the object type, or None."""
        self.used.add(name)
        found = self.types[name]
        return None if found is None else found.get("discriminator")


def file_name(resource_type: str) -> str:
    """Return the file name of a type."""
    return resource_type.replace("/", ".") + ".json"


@cache
def load_schema(resource_type: str) -> Schema | None:
    """Return the cached schema, or None."""
    path = DIRECTORY / file_name(resource_type)
    if not path.is_file():
        return None
    found = json.loads(path.read_text("utf-8"))
    return Schema(found["type"], found["apiVersion"], found["source"], found["body"], found["types"])


def is_required(described: list[str]) -> bool:
    """Return whether a property is required."""
    return "R" in "".join(described[1:])


def is_read_only(described: list[str]) -> bool:
    """Return whether only Azure sets a property."""
    return "O" in "".join(described[1:])


def words(kind: str) -> list[str] | None:
    """Return the words of an enumeration, or None for every other type."""
    if kind in PRIMITIVES or kind.endswith("[]"):
        return None
    return [word.strip() for word in kind.split(" | ") if word.strip() not in PRIMITIVES]


def dump(schema: Schema) -> str:
    """Return the text of the file, with the object types that were used, and null for those that they name."""
    used = {name: found for name, found in schema.types.items() if name in schema.used}
    named = {kind for found in used.values() for kind in _named(found)} & schema.types.keys()
    kept = {name: used.get(name) for name in used.keys() | named}
    head = {"type": schema.type, "apiVersion": schema.version, "source": schema.source, "body": schema.body}
    lines = [
        f"  {json.dumps(name)}: {json.dumps(found, separators=(',', ':'))}" for name, found in sorted(kept.items())
    ]
    start = json.dumps(head, indent=1)[:-2]
    return start + ',\n "types": {\n' + ",\n".join(lines) + "\n }\n}\n"


def _named(found: Mapping[str, Any]) -> list[str]:
    kinds = [described[0] for described in found.get("properties", {}).values()]
    kinds += [found.get("others") or "", *found.get("variants", {}).values()]
    return [kind.removesuffix("[]") for kind in kinds]
