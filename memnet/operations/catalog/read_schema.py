"""Read a schema version that another release brought, from the texts in the container."""

from collections.abc import Mapping

from memnet.domain.catalog.catalog_text import TextKind, TextName
from memnet.domain.catalog.schema import InvalidSchema, Schema
from memnet.domain.catalog.schema_additive import ADDITIVE_TO
from memnet.domain.catalog.schema_check import referenced, schema_uri
from memnet.domain.core.canonical_json import parse
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.scope import Json
from memnet.stores import CatalogTexts

MOST = 32
"""Texts that are read for one version: itself, what it refers to, and the versions that it is additive to."""


async def read_schema(
    schema_id: str, version: str, known: Mapping[tuple[str, str], Schema], *, texts: CatalogTexts
) -> Mapping[tuple[str, str], Schema]:
    """Return `known` with that version and all it needs; `known` itself if a text is missing, faulty or one too many.

    Every text is checked as at the start of a process, so an additive version has been proven to be one. Raises
    Unavailable.
    """
    bodies: dict[str, Json] = {schema_uri(*key): schema.body for key, schema in known.items()}
    found: list[tuple[str, str]] = []
    wanted = {(schema_id, version)} - known.keys()
    if not wanted:
        return known
    while wanted:
        key = wanted.pop()
        data = await texts.read(TextName(TextKind.SCHEMA, *key))
        body = None if data is None else _parsed(data)
        if not isinstance(body, dict) or len(found) == MOST:
            return known
        bodies[schema_uri(*key)] = body
        found.append(key)
        wanted |= {other for other in _needed(key[0], body) if schema_uri(*other) not in bodies}
    try:
        return {**known, **{key: Schema.compile(*key, bodies[schema_uri(*key)], bodies) for key in found}}
    except InvalidSchema:
        return known


def _parsed(data: bytes) -> Json:
    try:
        return parse(data)
    except MalformedRequest:
        return None


def _needed(schema_id: str, body: dict[str, Json]) -> set[tuple[str, str]]:
    """The schema versions that a text names."""
    names = [uri.split(":") for uri in referenced(body)]
    needed = {(name[1], name[2]) for name in names if len(name) == 3}
    return needed | ({(schema_id, str(body[ADDITIVE_TO]))} if ADDITIVE_TO in body else set())
