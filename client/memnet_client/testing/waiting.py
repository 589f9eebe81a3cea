"""What waits for a person, across the users of a tenant."""

from collections.abc import Iterator

from memnet_client.testing.call import Answer, Call
from memnet_client.testing.json_patch import Json
from memnet_client.testing.pending import items_of
from memnet_client.testing.refusals import Refusal
from memnet_client.testing.state import UserMemory

KINDS = ("pending", "question", "conflict", "failed_replay", "erasure", "dead_letter", "retraction")


def list_waiting(call: Call) -> Answer:
    """List one row for each kind and user, by kind and then by user. The fake has no dead letters."""
    asked = call.query("kind")
    if asked not in (None, *KINDS):
        message = f"The query parameter kind must be one of {', '.join(KINDS)}."
        raise Refusal("MALFORMED_REQUEST", message, parameter="kind")
    found = [
        {"kind": kind, "user_id": user_id, "since": min(times), "count": len(times), "complete": True, **more}
        for kind in KINDS
        for user_id in sorted(call.tenant.users)
        for times, more in _waiting(call, kind, user_id)
        if times and asked in (None, kind)
    ]
    return call.page("waiting", found, most=25)


def _waiting(call: Call, kind: str, user_id: str) -> Iterator[tuple[list[str], Json]]:
    """Yield since when each thing of a kind waits."""
    memory = call.tenant.users[user_id]
    if kind == "pending":
        items = items_of(call.world, memory)
        yield [item["proposed_at"] for item in items if item.get("decides") != "tenant"], {}
    if kind == "question":
        items = items_of(call.world, memory)
        yield [item["proposed_at"] for item in items if item.get("decides") == "tenant"], {}
    if kind == "conflict":
        views = [conflict.view for conflict in memory.conflicts.values()]
        yield [view["created_at"] for view in views if view["status"] == "open"], {}
    if kind == "failed_replay":
        yield [one["updated_at"] for one in memory.replays.values() if one["status"] == "failed"], {}
    if kind == "erasure":
        ended = [one.view for (whose, _), one in call.tenant.erasures.items() if whose == user_id]
        withheld = [one["accepted_at"] for one in ended if one["status"] == "partial"]
        yield withheld[:1] if memory != UserMemory() else [], {"status": "partial"}
        yield [one["accepted_at"] for one in ended if one["status"] == "running"], {"status": "running"}
