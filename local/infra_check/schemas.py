"""Azure's resource types, as they are cached in schemas/: one JSON file a type, with the API version that is pinned.

A file holds `type`, `apiVersion`, `source` and `types`, the object types by name; `body` names the first one. A
property is `[type]` or `[type, flags]`, flags being some of R (required), O (set by Azure alone). A type is `string`,
`int`, `bool`, `any`, the name of an object type, `a | b` (one of these words; `| string` says that Azure may know
others), or any of these with `[]` behind it. An object type that the templates did not use is null.
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
    """The object types that were asked for; what is worth keeping."""

    def is_object(self, name: str) -> bool:
        """Whether the name is one of an object type."""
        return name in self.types

    def properties(self, name: str) -> dict[str, list[str]] | None:
        """The properties of an object type, None if it is not kept."""
        self.used.add(name)
        found = self.types[name]
        return None if found is None else dict(found.get("properties", {}))

    def others(self, name: str) -> str | None:
        """The type of the properties without a name of their own; None: there are none."""
        found = self.types[name]
        return None if found is None else found.get("others")

    def variant(self, name: str, word: str | None) -> str | None:
        """The object type for a discriminator's value; None if there is none."""
        found: str | None = self.types[name]["variants"].get(word)
        return found

    def discriminator(self, name: str) -> str | None:
        """The property that decides which object type it is."""
        self.used.add(name)
        found = self.types[name]
        return None if found is None else found.get("discriminator")


def file_name(resource_type: str) -> str:
    """Where a type is kept."""
    return resource_type.replace("/", ".") + ".json"


@cache
def load_schema(resource_type: str) -> Schema | None:
    """The cached schema, None if there is none."""
    path = DIRECTORY / file_name(resource_type)
    if not path.is_file():
        return None
    found = json.loads(path.read_text("utf-8"))
    return Schema(found["type"], found["apiVersion"], found["source"], found["body"], found["types"])


def is_required(described: list[str]) -> bool:
    """Whether a property must be given."""
    return "R" in "".join(described[1:])


def is_read_only(described: list[str]) -> bool:
    """Whether Azure alone sets it."""
    return "O" in "".join(described[1:])


def words(kind: str) -> list[str] | None:
    """The words of a closed or open list of them, None for every other type."""
    if kind in PRIMITIVES or kind.endswith("[]"):
        return None
    return [word.strip() for word in kind.split(" | ") if word.strip() not in PRIMITIVES]


def dump(schema: Schema) -> str:
    """The file's text, with only the object types that were used, and null for those that they name."""
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
