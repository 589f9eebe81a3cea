"""What is left of a history that has no document any more: audit records and baselines.

An erasure that a hold has stopped leaves it, and an import that never ended. No document vouches for it, and where its
keys are gone nobody opens it. What every record and every baseline says in clear tells how long it is kept.
"""

from dataclasses import dataclass

import orjson

from memnet.domain.document import DocumentKey, UserScope
from memnet.domain.envelope import Record
from memnet.domain.errors import InvalidIdentifier


@dataclass(frozen=True, slots=True)
class Leftover:
    """A record or a baseline as it stands there; `members` are those that retention goes by."""

    change_id: str
    members: Record


def read_leftover(scope: UserScope, change_id: str, data: bytes) -> Leftover | None:
    """Read what stands in a change's place; None if it does not speak of that change of this user's."""
    try:
        members = orjson.loads(data)
        key = DocumentKey(UserScope(members["tenant_id"], members["user_id"]), members["namespace"], members["path"])
        timestamp, profile_id = members["timestamp"], members["profile_id"]
    except (ValueError, KeyError, TypeError, AttributeError, InvalidIdentifier):
        return None
    is_whole = isinstance(timestamp, str) and isinstance(profile_id, str | None)
    if not is_whole or key.scope != scope or members.get("change_id") != change_id:
        return None
    return Leftover(change_id, {"timestamp": timestamp, "profile_id": profile_id})
