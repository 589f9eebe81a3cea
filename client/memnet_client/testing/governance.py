"""Legal holds, erasures and retention."""

from copy import deepcopy

from memnet_client.testing.call import Answer, Call, check_identifier
from memnet_client.testing.json_patch import Json, digest
from memnet_client.testing.refusals import Refusal
from memnet_client.testing.state import Erasure, UserMemory, moment_of, text_of

KINDS = (
    "snapshots",
    "replays",
    "conflicts",
    "accesses",
    "events",
    "audit",
    "imports",
    "usage",
    "retractions",
    "withdrawn",
)


def list_users(call: Call) -> Answer:
    """List the users about whom anything is stored."""
    prefix = call.query("prefix") or ""
    if prefix:
        check_identifier("prefix", f"{prefix}0")
    known = sorted(user_id for user_id, memory in call.tenant.users.items() if memory != UserMemory())
    return call.page("users", [{"user_id": user_id} for user_id in known if user_id.startswith(prefix)])


def place_hold(call: Call) -> Answer:
    """Place a hold on the user or the tenant of the path; the same reason again changes nothing."""
    user_id, reason = call.path.get("user_id"), call.body["reason"]
    call.world.check_writable(call.path["tenant_id"], user_id)
    changes = call.tenant.holds.setdefault(user_id, [])
    if not changes or (changes[-1]["action"], changes[-1]["reason"]) != ("placed", reason):
        changes.append(_change(call, "placed", reason))
    return get_hold(call)


def release_hold(call: Call) -> Answer:
    """Lift the hold on the user or the tenant of the path."""
    reason = call.query("reason")
    if not reason:
        raise Refusal("MALFORMED_REQUEST", "The query parameter reason is missing.", param="reason")
    changes = call.tenant.holds.setdefault(call.path.get("user_id"), [])
    if changes and changes[-1]["action"] == "placed":
        changes.append(_change(call, "released", reason))
    return get_hold(call)


def get_hold(call: Call) -> Answer:
    """Get the holds that cover the user or the tenant, and the changes of its own hold."""
    user_id = call.path.get("user_id")
    holds = call.tenant.held(user_id)
    return Answer({"held": bool(holds), "holds": holds, "changes": call.tenant.holds.get(user_id, [])})


def _change(call: Call, action: str, reason: str) -> Json:
    return {"action": action, "reason": reason, "actor": call.principal, "at": call.world.ticks.now()}


def request_erasure(call: Call) -> Answer:
    """Erase everything about the user at once; the erasure is complete when it is read.

    Until then writes for the user are refused. Under a hold it ends as partial, and nothing is erased.
    """
    key, user_id = call.key(), call.path["user_id"]
    if call.identity.application is not None:
        raise Refusal("SELF_ERASURE_FORBIDDEN", "The fake lets no signed-in user erase their own memory.")
    erasure_id = digest([call.path["tenant_id"], user_id, key])[:32]
    known = call.tenant.erasures.get((user_id, erasure_id))
    if known is not None:
        return Answer(deepcopy(known.view), 202)
    running, holds, found = call.tenant.erasing(user_id), call.tenant.held(user_id), counts(call.memory)
    if running is not None:
        raise Refusal("ERASURE_RUNNING", "This user's memory is being erased.", erasure_id=running.view["erasure_id"])
    remaining = [
        {"kind": kind, "count": count, "reason": "legal_hold", "covers": holds[0]["covers"], "until": None}
        for kind, count in sorted((found or {"late_writes": 0}).items() if holds else ())
    ]
    erasure = _erasure(call, erasure_id, remaining, removed={} if holds else found)
    call.tenant.erasures[user_id, erasure_id] = erasure
    if holds:
        erasure.end("partial")
    else:
        call.tenant.users[user_id] = UserMemory()
    return Answer(deepcopy(erasure.view), 202)


def get_erasure(call: Call) -> Answer:
    """Get an erasure; it completes first."""
    named = call.path["user_id"], check_identifier("erasure_id", call.path["erasure_id"])
    erasure = call.tenant.erasures.get(named)
    if erasure is None:
        raise Refusal("ERASURE_NOT_FOUND", "There is no erasure of this user with this id.")
    return _completed(erasure)


def request_tenant_erasure(call: Call) -> Answer:
    """Erase all users without a hold at once; from now on every write for the tenant is refused."""
    if call.query("confirm") != call.path["tenant_id"]:
        message = "The query parameter confirm must repeat the tenant's id."
        raise Refusal("MALFORMED_REQUEST", message, param="confirm")
    tenant = call.tenant
    if tenant.erasure is None:
        if tenant.held(None):
            raise Refusal("TENANT_HELD", "The tenant is under a legal hold. Release it before the erasure.")
        erased = [user_id for user_id in tenant.users if not tenant.held(user_id)]
        for user_id in erased:
            tenant.users[user_id] = UserMemory()
        tenant.erasure = _erasure(call, call.world.ticks.new_id(), [], users=len(erased))
    return Answer(deepcopy(tenant.erasure.view), 202)


def get_tenant_erasure(call: Call) -> Answer:
    """Get the erasure of the tenant; it completes first."""
    if call.tenant.erasure is None:
        raise Refusal("ERASURE_NOT_FOUND", "There is no erasure of this tenant.")
    return _completed(call.tenant.erasure)


def _completed(erasure: Erasure) -> Answer:
    if erasure.view["status"] == "running":
        erasure.end("complete")
    return Answer(deepcopy(erasure.view))


def _erasure(call: Call, erasure_id: str, remaining: list[Json], **counted: Json) -> Erasure:
    """Return a running erasure. The signature of its receipt is empty."""
    now = call.world.ticks.now()
    named = {"erasure_id": erasure_id, "accepted_at": now, **counted}
    receipt = {
        **named,
        "receipt_version": 1,
        "tenant_id": call.path["tenant_id"],
        "requested_by": call.principal,
        "finished_at": now,
        "stores": ["blobs", "index", "queues"],
        "remaining": remaining,
        "clean_scans": 0 if remaining else 2,
        "recoverable_until": None,
        "signature": "",
    }
    return Erasure({**named, "status": "running", "failing": {}, "settled_at": now, "receipt": None}, receipt)


def counts(memory: UserMemory) -> dict[str, int]:
    """Return the number of stored items by kind."""
    audit = sum(len(document.records) for document in memory.documents.values())
    names = ("documents", "events", "snapshots", "replays", "conflicts", "accesses")
    counts = {"audit": audit, **{name: len(getattr(memory, name)) for name in names}}
    return {name: count for name, count in counts.items() if count}


def consolidate_documents(call: Call) -> Answer:
    """Report no document. The fake runs no upkeep."""
    return Answer({"dry_run": bool((call.body or {}).get("dry_run")), "documents": []})


def apply_retention(call: Call) -> Answer:
    """Count what is stored. The fake removes nothing."""
    body = call.body or {}
    as_of = body.get("as_of") or call.query("as_of")
    dry_run = call.flag("dry_run") or bool(body.get("dry_run"))
    holds, retained = call.tenant.held(call.path["user_id"]), counts(call.memory)
    zero = dict.fromkeys(("removed", "on_hold", "blocked", "deferred"), 0)
    return Answer(
        {
            "as_of": text_of(moment_of(as_of)) if as_of else call.world.ticks.now(),
            "dry_run": dry_run,
            "on_hold": bool(holds),
            "holds": holds,
            "counts": {kind: {**zero, "retained": retained.get(kind, 0)} for kind in KINDS},
            "baselines": 0,
            "unreadable": 0,
        }
    )
