"""A small, sound catalog on disk, to be broken one fault at a time."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonpatch
import pytest

from memnet.catalog import CatalogError, load_catalog
from memnet.domain.catalog.profile_check import PENDING_MEMBERS
from memnet.domain.catalog.schema import DIALECT

SCHEMA: dict[str, Any] = {
    "$schema": DIALECT,
    "$id": "memnet:garden:1.0.0",
    "type": "object",
    "required": ["plants"],
    "additionalProperties": False,
    "$defs": {"size": {"type": "number"}},
    "properties": {
        "plants": {"type": "array", "items": {"type": "string", "maxLength": 20}},
        "facts": {"type": "array", "items": {"type": "object"}},
        "waiting": {"type": "array", "items": {"type": "object", "properties": dict.fromkeys(PENDING_MEMBERS, True)}},
        "cramped": {"type": "array", "items": {"type": "object", "properties": {"id": {}, "text": {}}}},
        "soil": {"type": "object", "properties": {"ph": {"type": "number"}, "log": {"type": "array"}}},
        "beds": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "bed_id": {"type": "string"},
                    "names": {"type": "array"},
                    "words": {"type": "array"},
                    "size": {"$ref": "#/$defs/size"},
                    "sun": {"enum": ["yes", "no"]},
                },
            },
        },
    },
}

PROFILE: dict[str, Any] = {
    "profile_id": "gardener",
    "document_bindings": [
        {
            "binding_id": "garden",
            "namespace": "green",
            "path": "garden.json",
            "schema_id": "garden",
            "schema_version": "1.0.0",
            "max_chars": 100,
            "read_priority": 1,
            "initial_content": {"plants": []},
        },
        {
            "binding_id": "bed",
            "namespace": "green",
            "path_template": "beds/{bed_id}.json",
            "schema_id": "garden",
            "schema_version": "1.0.0",
            "max_chars": 100,
            "read_priority": 2,
        },
    ],
    "writable_path_rules": {"garden": ["/plants", "/soil/ph", "/waiting"]},
    "denied_fields": ["password", "/soil/log"],
    "durable_sections": {"garden": ["/facts"]},
    "pending_sections": {"garden": "/waiting"},
    "confidence_rules": {"min_confidence_for_durable_fact": 0.8, "min_confidence_for_auto_apply": 0.7},
    "compaction_rules": {"garden": {"max_plants": 2}},
    "routing": {
        "source_binding": "garden",
        "entries": "/beds",
        "id_field": "bed_id",
        "alias_fields": ["names"],
        "keyword_fields": ["words"],
    },
}


PROMPT = "Tell what was planted.\n"


@dataclass(frozen=True)
class Workshop:
    """Writes the files of a catalog and returns the problems that `load_catalog` finds."""

    root: Path

    @property
    def profiles(self) -> Path:
        return self.root / "profiles"

    @property
    def schemas(self) -> Path:
        return self.root / "schemas"

    @property
    def prompts(self) -> Path:
        return self.root / "prompts"

    def write(self, path: str, value: Any) -> Path:
        """Write JSON (or text, or bytes as they are) below the root."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        data = value if isinstance(value, bytes) else (value if isinstance(value, str) else json.dumps(value)).encode()
        target.write_bytes(data)
        return target

    def profile(self, *changes: dict[str, Any]) -> None:
        """Write the sound profile, changed by JSON Patch operations."""
        self.write("profiles/gardener.json", jsonpatch.apply_patch(PROFILE, list(changes)))

    def schema(self, *changes: dict[str, Any]) -> None:
        """Write the sound schema, changed by JSON Patch operations."""
        self.write("schemas/garden/1.0.0.json", jsonpatch.apply_patch(SCHEMA, list(changes)))

    def problems(self) -> Sequence[tuple[str, str, str]]:
        """(file relative to the root, pointer, reason) of everything that is wrong."""
        try:
            load_catalog(self.profiles, self.schemas, self.prompts)
        except CatalogError as error:
            root = self.root.as_posix() + "/"
            return [(p.file.removeprefix(root), p.pointer, p.reason) for p in error.problems]
        return []


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    made = Workshop(tmp_path)
    made.profile()
    made.schema()
    made.write("prompts/planting/1.0.0.md", PROMPT)
    return made
