"""One schema in three additive versions, and the catalogs of the releases that bind them."""

from typing import Any

import orjson

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.schema import DIALECT, Schema, schema_uri
from memnet.domain.catalog.schema_additive import ADDITIVE_TO
from memnet.domain.core.scope import DocumentKey, Json, UserScope

GARDEN = DocumentKey(UserScope("t1", "u1"), "green", "garden.json")
LIST = {"type": "array", "items": {"type": "string", "maxLength": 9}}
PLACE: dict[str, Any] = {
    "$schema": DIALECT,
    "$id": schema_uri("place", "1.0.0"),
    "type": "object",
    "additionalProperties": False,
    "properties": {"north": {"type": "boolean"}},
}


def body(version: str, older: str | None, **properties: Json) -> dict[str, Any]:
    """The text of a version of the garden's schema; `older` is what it is additive to."""
    return {
        "$schema": DIALECT,
        "$id": schema_uri("garden", version),
        **({ADDITIVE_TO: older} if older else {}),
        "type": "object",
        "additionalProperties": False,
        "properties": {"plants": LIST, **properties},
    }


FIRST = body("1.0.0", None)
SECOND = body("1.1.0", "1.0.0", tools=LIST)
THIRD = body("1.2.0", "1.1.0", tools=LIST, place={"$ref": schema_uri("place", "1.0.0")})
BODIES = {
    ("garden", "1.0.0"): FIRST,
    ("garden", "1.1.0"): SECOND,
    ("garden", "1.2.0"): THIRD,
    ("place", "1.0.0"): PLACE,
}
REGISTERED = {schema_uri(*key): text for key, text in BODIES.items()}


def release(version: str, *others: str) -> Catalog:
    """The release whose profile binds this version of the schema; it has the texts of `others`, too."""
    keys = [("place", "1.0.0")] if "1.2.0" in (version, *others) else []
    keys += [("garden", name) for name in (version, *others)]
    members = {
        "profile_id": "gardener",
        "version": version,
        "document_bindings": [
            {
                "binding_id": "garden",
                "namespace": GARDEN.namespace,
                "path": GARDEN.path,
                "schema_id": "garden",
                "schema_version": version,
                "max_chars": 1000,
                "read_priority": 1,
                "initial_content": {"plants": []},
            }
        ],
        "writable_path_rules": {"garden": ["/plants", "/tools", "/place"]},
    }
    profile = Profile.model_validate_json(orjson.dumps(members))
    return Catalog({"gardener": profile}, {key: Schema.compile(*key, BODIES[key], REGISTERED) for key in keys})


OLD = release("1.0.0")
NEW = release("1.1.0", "1.0.0")
NEWEST = release("1.2.0", "1.1.0", "1.0.0")
