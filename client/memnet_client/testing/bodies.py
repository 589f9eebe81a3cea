"""The members of each request body: which are required, which are known, and their JSON types."""

from typing import Any, get_args

from memnet_client.prompt import MIN_TOKENS, Format
from memnet_client.testing.json_patch import Json
from memnet_client.testing.refusals import Refusal

_TYPES: dict[str, Any] = {
    "text": str,
    "number": (int, float),
    "list": list,
    "object": dict,
    "flag": bool,
    "any": object,
}
_REASONS = ("live_update", "replay_update", "admin_migration")
_EVIDENCE = "evidence=object"
SHAPES = {
    "patch_document": "profile_id:text binding_id:text ops:list reason:text confidence=number source_time=text "
    "claimant=object " + _EVIDENCE,
    "replace_document": "profile_id:text binding_id:text document:object reason=text " + _EVIDENCE,
    "confirm_pending": "namespace:text path:text confidence:number value=any take=text choice=number apart=text "
    + _EVIDENCE,
    "reject_pending": "namespace:text path:text note=text",
    "assemble_context": "profile_id:text conversation_hint=object max_docs=number max_chars_total=number "
    "routing_debug=flag include_events=object render=object",
    "recall": "profile_id:text query:text conversation_id=text max_tokens=number limit=number recency_weight=number "
    "pipeline=text format=text include=object as_of=text valid_at=text debug=flag",
    "store_snapshot": "profile_id:text messages:list snapshot_id=text",
    "store_turns": "profile_id:text turns:list",
    "discard_conflict": "note=text",
    "write_event": "event_id:text service_id:text timestamp:text source_type:text digest:text tenant_id=text "
    "user_id=text keywords=list entities=list project_ids=list snapshot_uri=text " + _EVIDENCE,
    "search_events": "query=text top_k=number from=text to=text service_id=text project_id=text source_type=text "
    "entity=text cursor=text",
    "search_turns": "profile_id:text query=text conversation_id=text speaker=text from=text to=text top_k=number "
    "cursor=text",
    "consolidate_documents": "dry_run=flag",
    "apply_retention": "as_of=text dry_run=flag",
    "export_user": "include_conversations=flag reason=text",
    "place_hold": "reason:text",
    "plan_retraction": "source:object reason:text",
    "place_tenant_hold": "reason:text",
}
"""By operation: `name:type` is required, `name=type` may be missing or null."""
WITH_SOURCE = frozenset({"patch_document", "replace_document", "confirm_pending"})
"""The operations whose evidence, if it is sent, must name a source."""
SOURCES = ("conversation_id", "message_ids", "snapshot_uri", "event_id")
"""The members of evidence that name a source or, signed in, the person."""
OPTIONAL = frozenset({"discard_conflict", "consolidate_documents", "apply_retention", "export_user"})
"""The operations whose body may be missing."""
_WITHIN = {
    ("replace_document", "document"): "schema_id:text schema_version:text content:any",
    ("assemble_context", "include_events"): "top_k:number max_chars=number",
    ("assemble_context", "render"): "format:text max_tokens=number",
    ("recall", "include"): "waiting=flag closed=flag",
    ("store_snapshot", "messages"): "message_id:text role:text name=text content:text timestamp:text",
    ("store_turns", "turns"): "turn_id=text timestamp=text topic=text metadata=object claimant=object messages:list",
    ("patch_document", "claimant"): "user_id:text",
}


def check_body(operation: str, body: Json) -> None:
    """Raise Refusal MALFORMED_REQUEST for a missing, unknown or mistyped member."""
    if operation not in SHAPES or (body is None and operation in OPTIONAL):
        return
    _check(body, SHAPES[operation], "")
    for (name, member), shape in _WITHIN.items():
        inner = body.get(member) if name == operation else None
        for one in inner if isinstance(inner, list) else [] if inner is None else [inner]:
            _check(one, shape, f"/{member}")
    if operation == "patch_document" and (
        body["reason"] not in _REASONS or not all(isinstance(op, dict) for op in body["ops"])
    ):
        _refuse("/reason" if body["reason"] not in _REASONS else "/ops")
    render = body.get("render") or {"format": "json"}
    if render["format"] not in get_args(Format):
        _refuse("/render/format")
    if (render.get("max_tokens") or MIN_TOKENS) < MIN_TOKENS:
        _refuse("/render/max_tokens")
    if not 0 <= (body.get("confidence") or 0) <= 1:
        _refuse("/confidence")
    evidence = body.get("evidence") if operation in WITH_SOURCE else None
    if evidence is not None and not any(evidence.get(name) for name in (*SOURCES, "stated_by")):
        _refuse("/evidence")


def _check(body: Json, shape: str, at: str) -> None:
    if not isinstance(body, dict):
        _refuse(at)
    required = dict(part.split(":") for part in shape.split() if ":" in part)
    known = required | dict(part.split("=") for part in shape.split() if "=" in part)
    for name in body.keys() ^ required.keys():
        if name in required or name not in known:
            _refuse(f"{at}/{name}")
    for name, value in body.items():
        may_be_null = name not in required or known[name] == "any"
        if not (value is None and may_be_null) and not _is_a(value, known[name]):
            _refuse(f"{at}/{name}")


def _is_a(value: Json, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and not (kind == "number" and isinstance(value, bool))


def _refuse(where: str) -> None:
    problems = [{"pointer": where, "reason": "missing, unknown or of another type"}]
    raise Refusal("MALFORMED_REQUEST", f"{where} is not valid here.", param=where, problems=problems)
