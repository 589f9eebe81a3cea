"""Retractions. The fake takes back what was said, at once: the snapshots of a source, and their replays.

It does not trace where values come from, so documents stay as they are, and a plan names none.
"""

from copy import deepcopy

from memnet_client.testing.call import Answer, Call, check_identifier
from memnet_client.testing.governance import counts
from memnet_client.testing.json_patch import Json, digest
from memnet_client.testing.refusals import Refusal

FATES = ("removed", "put_back", "stripped", "reopened", "unresolved")
NEEDED = {
    "conversation": {"conversation_id"},
    "snapshot": {"conversation_id", "snapshot_id"},
    "replay": {"replay_id"},
    "event": {"event_id"},
    "actor": {"actor"},
    "model": set[str](),
}
ALLOWED = {
    "conversation": {"message_ids"},
    "actor": {"since", "until"},
    "model": {"model", "prompt_sha256"},
}


def plan_retraction(call: Call) -> Answer:
    """Plan a retraction; the same key plans it once."""
    key, source = call.key(), call.body["source"]
    kind = source.get("kind")
    needed = NEEDED.get(kind) if isinstance(kind, str) else None
    given = source.keys() - {"kind"}
    if needed is None or not needed <= given or not given <= needed | ALLOWED.get(kind, set()):
        raise Refusal("MALFORMED_REQUEST", "The source has not the members of its kind.", param="/source")
    return _answer(_planned(call, key, source, call.body["reason"]), 201)


def retract_conversation(call: Call) -> Answer:
    """Plan the retraction of a conversation and apply it at once; with `dry_run` only plan it."""
    key, reason, is_dry = call.key(), call.query("reason"), call.flag("dry_run")
    if not reason:
        raise Refusal("MALFORMED_REQUEST", "The query parameter reason is required.", param="reason")
    conversation_id = check_identifier("conversation_id", call.path["conversation_id"])
    found = _planned(call, key, {"kind": "conversation", "conversation_id": conversation_id}, reason)
    if not is_dry and found["undone_by"] is None:
        _apply(call, found)
    return _answer(found, 202)


def _planned(call: Call, key: str, source: Json, reason: str) -> Json:
    """Return the retraction of this key, which is planned if there is none. Raises Refusal."""
    retraction_id = f"rtr-{digest([call.prefix, call.principal, key])[:32]}"
    known = call.memory.retractions.get(retraction_id)
    if known is not None:
        if (known["source"], known["reason"]) != (source, reason):
            raise Refusal("IDEMPOTENCY_KEY_REUSED", "The key belongs to another request.")
        return known
    _check_hold(call)
    call.world.check_writable(call.path["tenant_id"], call.path["user_id"])
    snapshots = _snapshots(call, source)
    if not snapshots and not counts(call.memory):
        raise Refusal("USER_NOT_FOUND", "Nothing is stored about this user.")
    items = [{"kind": "snapshot", "name": f"{one}/{other}", "fate": "remove"} for one, other in snapshots]
    now = call.world.ticks.now()
    call.memory.retractions[retraction_id] = {
        "retraction_id": retraction_id,
        "source": source,
        "reason": reason,
        "status": "planned",
        "etag": f'"{digest([retraction_id, items])[:32]}"',
        "counts": {**dict.fromkeys(FATES, 0), "items": len(items)},
        "planned_by": call.principal,
        "applied_by": None,
        "undone_by": None,
        "created_at": now,
        "updated_at": now,
        "failure": None,
        "needs_another": False,
        "documents": [],
        "items": items,
    }
    return call.memory.retractions[retraction_id]


def list_retractions(call: Call) -> Answer:
    """List the retractions of a user without their plans."""
    return call.page("retractions", [_row(one) for _, one in sorted(call.memory.retractions.items())])


def get_retraction(call: Call) -> Answer:
    """Get a retraction."""
    return _answer(_found(call), 200)


def apply_retraction(call: Call) -> Answer:
    """Apply a retraction at once."""
    found, tag = _found(call), call.request.headers.get("If-Match")
    if tag is None:
        raise Refusal("PRECONDITION_REQUIRED", "A write needs If-Match.")
    if tag != found["etag"]:
        raise Refusal("ETAG_MISMATCH", "The plan of the retraction is another one.", latest_etag=found["etag"])
    if found["undone_by"] is not None:
        raise Refusal("RETRACTION_CLOSED", "The retraction is undone.", status=found["status"])
    _apply(call, found)
    return Answer(_row(found), 202)


def _apply(call: Call, found: Json) -> None:
    if found["status"] != "planned":
        return
    _check_hold(call)
    for place in _snapshots(call, found["source"]):
        call.memory.withdrawn[place] = call.memory.snapshots.pop(place)
    found.update(status="applied", applied_by=call.principal, updated_at=call.world.ticks.now())


def undo_retraction(call: Call) -> Answer:
    """Undo a retraction at once."""
    found = _found(call)
    if found["status"] != "undone":
        _check_hold(call)
        for item in found["items"]:
            conversation_id, _, snapshot_id = item["name"].partition("/")
            kept = call.memory.withdrawn.pop((conversation_id, snapshot_id), None)
            if kept is not None:
                call.memory.snapshots.setdefault((conversation_id, snapshot_id), kept)
        found.update(status="undone", undone_by=call.principal, updated_at=call.world.ticks.now())
    return Answer(_row(found), 202)


def _snapshots(call: Call, source: Json) -> list[tuple[str, str]]:
    wanted = source.get("conversation_id"), source.get("snapshot_id")
    if source["kind"] not in ("conversation", "snapshot"):
        return []
    return sorted(place for place in call.memory.snapshots if place[0] == wanted[0] and wanted[1] in (None, place[1]))


def _found(call: Call) -> Json:
    found = call.memory.retractions.get(check_identifier("retraction_id", call.path["retraction_id"]))
    if found is None:
        raise Refusal("RETRACTION_NOT_FOUND", "There is no such retraction.")
    return found


def _check_hold(call: Call) -> None:
    if call.tenant.held(call.path["user_id"]):
        raise Refusal("USER_HELD", "The user is under a legal hold.")


def _row(view: Json) -> Json:
    return deepcopy({name: value for name, value in view.items() if name not in ("documents", "items")})


def _answer(view: Json, status: int) -> Answer:
    return Answer(deepcopy(view), status, {"ETag": view["etag"]})
