"""What is left of a history that has no document any more: audit records and baselines.

An erasure that a hold has stopped leaves it, and an import that never ended. No document vouches for it, and where its
keys are gone nobody opens it. What every record and every baseline says in clear tells how long it is kept.
"""

import orjson

from memnet.domain.document import DocumentKey, UserScope
from memnet.domain.envelope import Record
from memnet.domain.errors import InvalidIdentifier


def read_leftover(scope: UserScope, change_id: str, data: bytes) -> Record | None:
    """Return the members that retention goes by of what stands in a change's place, a record or a baseline; None if it
    does not speak of that change of this user's.
    """
    try:
        members = orjson.loads(data)
        key = DocumentKey(UserScope(members["tenant_id"], members["user_id"]), members["namespace"], members["path"])
        timestamp, profile_id = members["timestamp"], members["profile_id"]
    except (ValueError, KeyError, TypeError, AttributeError, InvalidIdentifier):
        return None
    is_whole = isinstance(timestamp, str) and isinstance(profile_id, str | None)
    if not is_whole or key.scope != scope or members.get("change_id") != change_id:
        return None
    return {"timestamp": timestamp, "profile_id": profile_id}
