"""The form of a model's answer, as JSON Schemas made from a profile.

They are in the subset that all providers enforce: every member required, no others allowed, no bounds; null means
absence. A form with too many members for a provider is asked in several calls, the documents that are read first in the
first one. The guardrails check every answer against the full rules.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.catalog.entry_template import SCALARS, said_members, text_member
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.profile import Binding, Profile
from memnet.domain.catalog.rules import PromptName
from memnet.domain.catalog.schema import Schema
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.scope import Json
from memnet.domain.replay.prompt_input import writable

SCHEMA_NAME: Final = "memory_extraction"
MAX_MEMBERS: Final = 100
"""The object properties of one schema ("Structured outputs" in Azure OpenAI's documentation, the lowest limit)."""


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The schema of the answer to one call."""

    schema: Json
    lists: frozenset[tuple[str, str]]
    """The sections to which this call adds entries, by binding."""


def answer_forms(
    profile: Profile, catalog: Catalog, bindings: Collection[str] | None = None, *, has_digest: bool = True
) -> list[AnswerForm]:
    """Return the form of the answer to each call about these bindings, at least one; None: those without own prompt.

    Only the first has a digest, with `has_digest`, and operations.
    """
    if bindings is None:
        bindings = prompted_bindings(profile)[None]
    waiting = [one for one in _typed_patches(profile, catalog) if one[0][0] in bindings]
    patches = [_OPERATIONS] if _has_operations(profile, bindings, {place for place, _ in waiting}) else []
    forms: list[AnswerForm] = []
    while waiting or not forms:
        places = []
        while waiting and (not patches or _fits([*patches, waiting[0][1]], has_digest=has_digest and not forms)):
            place, patch = waiting.pop(0)
            places.append(place)
            patches.append(patch)
        forms.append(AnswerForm(_answer(patches, has_digest=has_digest and not forms), frozenset(places)))
        patches = []
    return forms


def prompted_bindings(profile: Profile) -> dict[PromptName | None, list[str]]:
    """Return the bindings by the prompt with which their documents are asked about, in order; None: the profile's."""
    own = {} if profile.extraction is None else profile.extraction.prompts
    found: dict[PromptName | None, list[str]] = {None: []}
    for binding in profile.document_bindings:
        found.setdefault(own.get(binding.binding_id), []).append(binding.binding_id)
    return found


def forms_sha256(forms: Sequence[AnswerForm]) -> str:
    """Return the SHA-256 of the schemas, for the provenance."""
    return sha256_hex(canonical([form.schema for form in forms]))


def entry_schema(schema: Schema, section: str, template: dict[str, Json]) -> Json:
    """Return the schema of an entry that a model proposes: the text and the members with $said."""
    required = set(schema.required(f"{section}/-"))
    members: dict[str, Json] = {text_member(template): _TEXT}
    for name in said_members(template):
        place = f"{section}/-/{name}"
        found = schema.types(place)
        types = [one for one in SCALARS if one in found]
        choices = [value for value in schema.choices(place) if value is not None]
        if "null" in found or name not in required:
            types, choices = [*types, "null"], [*choices, None] if choices else []
        members[name] = {"type": types if len(types) > 1 else types[0]} | ({"enum": choices} if choices else {})
    return _object(**members)


def count_members(schema: Json) -> int:
    """Return the number of object properties in a schema, as providers count them."""
    if isinstance(schema, dict):
        properties = schema.get("properties")
        own = len(properties) if isinstance(properties, dict) else 0
        return own + sum(map(count_members, schema.values()))
    return sum(map(count_members, schema)) if isinstance(schema, list) else 0


def typed_sections(profile: Profile) -> Iterator[tuple[Binding, str, dict[str, Json]]]:
    """Yield each section whose entries a model fills, with its template, the documents read first at first."""
    items = {} if profile.extraction is None else profile.extraction.items
    for binding in sorted(profile.document_bindings, key=lambda binding: binding.read_priority):
        for section, template in items.get(binding.binding_id, {}).items():
            if said_members(template):
                yield binding, section, template


def _typed_patches(profile: Profile, catalog: Catalog) -> Iterator[tuple[tuple[str, str], Json]]:
    for binding, section, template in typed_sections(profile):
        entry = entry_schema(catalog.rules(profile, binding).schema, section, template)
        patch = _object(
            target_binding_id=_one_of(binding.binding_id),
            target_path=_TEXT,
            add_to=_one_of(f"/{ROOT}{section}"),
            entry=entry,
            **_ORIGIN,
        )
        yield (binding.binding_id, section), patch


def _has_operations(profile: Profile, bindings: Collection[str], typed: set[tuple[str, str]]) -> bool:
    """Whether a replay may write anything in these documents besides the entries of the typed sections."""
    places = {(name, rule) for name in bindings for rule in writable(profile, name)}
    return not typed or not places <= typed


def _fits(patches: Sequence[Json], *, has_digest: bool) -> bool:
    return count_members(_answer(patches, has_digest=has_digest)) <= MAX_MEMBERS


def _object(**properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _one_of(value: str) -> Json:
    return {"type": "string", "enum": [value]}


_TEXT: Final[Json] = {"type": "string"}
_ORIGIN: Final[dict[str, Json]] = {"confidence": {"type": "number"}, "message_ids": _list(_TEXT)}
_OPERATION: Final[Json] = _object(
    op={"type": "string", "enum": ["add", "replace"]},
    path=_TEXT,
    value={"anyOf": [_TEXT, {"type": "number"}, {"type": "boolean"}, {"type": "null"}]},
)
_OPERATIONS: Final[Json] = _object(target_binding_id=_TEXT, target_path=_TEXT, ops=_list(_OPERATION), **_ORIGIN)
_DIGEST: Final[Json] = _object(text=_TEXT, keywords=_list(_TEXT), entities=_list(_TEXT), project_ids=_list(_TEXT))


def _answer(patches: Sequence[Json], *, has_digest: bool) -> Json:
    digest = {"anyOf": [_DIGEST, {"type": "null"}]} if has_digest else {"type": "null"}
    return _object(digest=digest, patches=_list(patches[0] if len(patches) == 1 else {"anyOf": list(patches)}))
