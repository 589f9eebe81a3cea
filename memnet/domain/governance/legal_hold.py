"""A legal hold: while it is in force, nothing of a user or of a whole tenant is deleted.

Each change is a record of its own, created once; the newest one says whether the hold is in force. Each names the hash
of the one before it, so that an altered or missing change is detected.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import HistoryCorrupt, InvalidIdentifier
from memnet.domain.core.scope import Json, UserScope, check_identifier

HOLDS = "holds/"
"""The prefix of all holds, outside of the users' prefixes: deleting a user's prefix does not delete them."""
HOLD_VERSION = 2
MAX_REASON = 512
FIRST_HASH = "0" * 64


@dataclass(frozen=True, slots=True)
class HoldTarget:
    """The target of a hold: one user, or all users of a tenant. Raises InvalidIdentifier."""

    tenant_id: str
    user_id: str | None = None

    def __post_init__(self) -> None:
        check_identifier("tenant_id", self.tenant_id)
        if self.user_id is not None:
            check_identifier("user_id", self.user_id)

    @property
    def prefix(self) -> str:
        """The prefix of its changes."""
        below = "tenant" if self.user_id is None else f"users/{self.user_id}"
        return f"{tenant_prefix(self.tenant_id)}{below}/"


@dataclass(frozen=True, slots=True)
class HoldKey:
    """One change of the hold on a target; numbers begin with 1 and have no gap."""

    target: HoldTarget
    number: int

    @property
    def blob_name(self) -> str:
        """The name of its blob; name order is the order of the changes."""
        return f"{self.target.prefix}{self.number:012d}.json"


class HoldAction(StrEnum):
    """The action of a change."""

    PLACED = "placed"
    RELEASED = "released"


@dataclass(frozen=True, slots=True)
class HoldChange:
    """Who placed or released a hold, when, and why."""

    key: HoldKey
    action: HoldAction
    reason: str
    actor: str
    at: str
    previous: str

    @property
    def holds(self) -> bool:
        """Whether the hold is in force after it."""
        return self.action is HoldAction.PLACED

    @property
    def covers(self) -> str:
        """The kind of its target: "user" or "tenant"."""
        return "tenant" if self.key.target.user_id is None else "user"

    def to_json(self) -> dict[str, Json]:
        """Return the members of the response."""
        return {"action": self.action.value, "reason": self.reason, "actor": self.actor, "at": self.at}


def tenant_prefix(tenant_id: str) -> str:
    """Return the prefix of all holds of a tenant. Raises InvalidIdentifier."""
    return f"{HOLDS}{check_identifier('tenant_id', tenant_id)}/"


def targets_over(scope: UserScope) -> tuple[HoldTarget, HoldTarget]:
    """Return the targets whose holds cover a user: the user and the tenant."""
    return HoldTarget(scope.tenant_id, scope.user_id), HoldTarget(scope.tenant_id)


def key_of(name: str) -> HoldKey | None:
    """Return the key of the change with this blob name, or None if no change has such a name."""
    match name.removeprefix(HOLDS).split("/"):
        case [tenant_id, "tenant", file]:
            user_id = None
        case [tenant_id, "users", user_id, file]:
            pass
        case _:
            return None
    number = file.removesuffix(".json")
    if len(number) != 12 or not (number.isascii() and number.isdecimal()):
        return None
    try:
        return HoldKey(HoldTarget(tenant_id, user_id), int(number))
    except InvalidIdentifier:
        return None


def dump(change: HoldChange) -> bytes:
    """Serialize a change."""
    target = change.key.target
    return canonical(
        {
            "hold_version": HOLD_VERSION,
            "tenant_id": target.tenant_id,
            "user_id": target.user_id,
            "number": change.key.number,
            "previous_sha256": change.previous,
            **change.to_json(),
        }
    )


def load(key: HoldKey, data: bytes) -> HoldChange:
    """Parse what `dump` returned for this key. Raises HistoryCorrupt: an unreadable change may be a hold."""
    try:
        members: dict[str, Any] = orjson.loads(data)
        action, previous = HoldAction(members["action"]), members["previous_sha256"]
        change = HoldChange(key, action, members["reason"], members["actor"], members["at"], previous)
        if dump(change) == data:
            return change
    except (ValueError, KeyError, TypeError):
        pass
    raise HistoryCorrupt("A stored legal hold cannot be read.", hold=key.blob_name)


def following(newest: HoldChange | None, target: HoldTarget) -> tuple[HoldKey, str]:
    """Return the key of the next change, and the previous hash that it names."""
    if newest is None:
        return HoldKey(target, 1), FIRST_HASH
    return HoldKey(target, newest.key.number + 1), sha256_hex(dump(newest))


def check_row(changes: Sequence[HoldChange]) -> None:
    """Raise HistoryCorrupt unless the changes of a target are unaltered and in order; the first ones may be missing."""
    before: HoldChange | None = None
    for change in changes:
        if before is None:
            is_next = (change.previous == FIRST_HASH) == (change.key.number == 1)
        else:
            is_next = (change.key, change.previous) == following(before, change.key.target)
        if not is_next:
            raise HistoryCorrupt("A change of a legal hold is missing or was altered.", hold=change.key.blob_name)
        before = change
