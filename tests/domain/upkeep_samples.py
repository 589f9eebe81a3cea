"""A small profile with sections that can be kept up: notes, facts that are durable, and what waits."""

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from memnet.domain.catalog.catalog import ProtectedSections, WriteRules
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.profile_check import PENDING_MEMBERS
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.json_patch import apply, pointer
from memnet.domain.core.scope import Json
from memnet.domain.core.timestamps import to_text
from memnet.domain.upkeep.maintenance import MaintenancePlan
from tests.domain.samples import small_rules

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "title": {"type": "string"},
        "notes": {"type": "array", "items": {"type": ["string", "object"]}},
        "likes": {"type": "array", "items": {"type": "string"}},
        "facts": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["text"],
                "properties": {
                    "text": {"type": "string"},
                    "confidence": {"type": "number"},
                    "evidence": {"type": "object", "maxProperties": 4},
                    "last_verified_at": {"type": "string"},
                    "expires_at": {"type": "string"},
                },
            },
        },
        "waiting": {"type": "array", "items": {"type": "object", "required": list(PENDING_MEMBERS)}},
    },
}
NOTES = {"section": "/notes", "merge": True, "keep": 2}
LIKES = {"section": "/likes", "merge": True, "keep": 1}
FACTS = {"section": "/facts", "merge": True, "expires_field": "expires_at", "stale_after_days": 100}


def ago(days: float) -> str:
    """So many days before now."""
    return to_text(NOW - timedelta(days=days))


def rules(*sections: dict[str, Any], max_chars: int = 100_000, schema: Json = None, **profile: Any) -> WriteRules:
    """The profile with these upkeep rules; `profile` replaces members."""
    members = {
        "durable_sections": {"b": ["/facts"]},
        "pending_sections": {"b": "/waiting"},
        "upkeep_rules": {"b": list(sections)},
        "upkeep_fill": 1.0,
        "writable_path_rules": {"b": []},
        **profile,
    }
    return small_rules(schema=schema or SCHEMA, binding={"max_chars": max_chars}, **members)


def around(governance: WriteRules) -> ProtectedSections:
    """The surroundings of a document that only this profile covers."""
    profile = governance.profile
    durable = tuple(pointer(text) for text in profile.durable_sections.get("b", ()))
    pending = profile.pending_sections.get("b")
    return ProtectedSections(durable, () if pending is None else (pending,))


def applied(content: Json, plan: MaintenancePlan) -> Json:
    """What the plan's operations make of the content."""
    return apply({ROOT: orjson.loads(canonical(content))}, plan.ops)[ROOT]


def fact(text: str, **members: Any) -> dict[str, Any]:
    """A fact of average confidence, verified yesterday."""
    return {"text": text, "confidence": 0.9, "last_verified_at": ago(1), **members}


def proposal(text: str, **members: Any) -> dict[str, Any]:
    """A pending item of Alice's that would add a fact."""
    return {
        "id": f"id of {text}",
        "text": text,
        "confidence": 0.5,
        "evidence": None,
        "proposed_at": ago(5),
        "proposed_by": "svc-alice",
        "profile_id": "p",
        "binding_id": "b",
        "on_behalf_of": None,
        "proposed_on": None,
        "target": {"op": "add", "path": "/content/facts/-", "value": {"text": text}},
        "base": {"facts": []},
        **members,
    }
