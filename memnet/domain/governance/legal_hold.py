"""A legal hold: an order that nothing of a user, or of a whole tenant, is removed, until it is lifted.

Its state is its history: every change is a record of its own, created once, and the newest one is what holds. Each
names the hash of the one before it, so that none can be altered, or taken out from among the others, unnoticed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import HistoryCorrupt, InvalidIdentifier
from memnet.domain.core.scope import UserScope, check_identifier

HOLDS = "holds/"
"""Where the holds lie: outside of the users' prefixes, so that nothing which empties those takes them along."""
HOLD_VERSION = 2
MAX_REASON = 512
TENANT = "tenant"
USERS = "users"
FIRST_NUMBER = 1
FIRST_HASH = "0" * 64
"""The previous hash of the first change."""


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
        """Where its changes lie."""
        below = TENANT if self.user_id is None else f"{USERS}/{self.user_id}"
        return f"{tenant_prefix(self.tenant_id)}{below}/"


@dataclass(frozen=True, slots=True)
class HoldKey:
    """One change of the hold on a place; numbers begin with 1 and have no gap."""

    place: HoldTarget
    number: int

    @property
    def blob_name(self) -> str:
        """The name of its blob; name order is the order of the changes."""
        return f"{self.place.prefix}{self.number:012d}.json"


class HoldAction(StrEnum):
    """The action of a change."""

    PLACED = "placed"
    RELEASED = "released"


@dataclass(frozen=True, slots=True)
class HoldChange:
    """Who placed or lifted a hold, when, and why."""

    key: HoldKey
    action: HoldAction
    reason: str
    actor: str
    at: str
    previous: str
    """The SHA-256 of the change before it."""

    @property
    def holds(self) -> bool:
        """Whether something is held after it."""
        return self.action is HoldAction.PLACED

    @property
    def covers(self) -> str:
        """The kind of its target: "user" or "tenant"."""
        return "tenant" if self.key.place.user_id is None else "user"

    def members(self) -> dict[str, Any]:
        """Return the members of the response."""
        return {"action": self.action.value, "reason": self.reason, "actor": self.actor, "at": self.at}


def tenant_prefix(tenant_id: str) -> str:
    """Where all holds of a tenant lie. Raises InvalidIdentifier."""
    return f"{HOLDS}{check_identifier('tenant_id', tenant_id)}/"


def places_over(scope: UserScope) -> tuple[HoldTarget, HoldTarget]:
    """The places a hold on which covers a user."""
    return HoldTarget(scope.tenant_id, scope.user_id), HoldTarget(scope.tenant_id)


def key_of(name: str) -> HoldKey | None:
    """The change of a blob's name; None for a blob that is no change of a hold."""
    match name.removeprefix(HOLDS).split("/"):
        case [tenant_id, kind, file] if kind == TENANT:
            return _key(tenant_id, None, file)
        case [tenant_id, kind, user_id, file] if kind == USERS:
            return _key(tenant_id, user_id, file)
    return None


def _key(tenant_id: str, user_id: str | None, file: str) -> HoldKey | None:
    number = file.removesuffix(".json")
    if len(number) != 12 or not (number.isascii() and number.isdecimal()):
        return None
    try:
        return HoldKey(HoldTarget(tenant_id, user_id), int(number))
    except InvalidIdentifier:
        return None


def dump(change: HoldChange) -> bytes:
    """Write it."""
    place = change.key.place
    return canonical(
        {
            "hold_version": HOLD_VERSION,
            "tenant_id": place.tenant_id,
            "user_id": place.user_id,
            "number": change.key.number,
            "previous_sha256": change.previous,
            **change.members(),
        }
    )


def load(key: HoldKey, data: bytes) -> HoldChange:
    """Read what `dump` wrote under this key. Raises HistoryCorrupt: what cannot be read may be a hold."""
    try:
        members = orjson.loads(data)
        change = HoldChange(
            key,
            HoldAction(members["action"]),
            members["reason"],
            members["actor"],
            members["at"],
            members["previous_sha256"],
        )
        if dump(change) == data:
            return change
    except (ValueError, KeyError, TypeError):
        pass
    raise HistoryCorrupt("A stored legal hold cannot be read.", hold=key.blob_name)


def following(newest: HoldChange | None, place: HoldTarget) -> tuple[HoldKey, str]:
    """The key of the change that comes next, and the hash that it names."""
    if newest is None:
        return HoldKey(place, FIRST_NUMBER), FIRST_HASH
    return HoldKey(place, newest.key.number + 1), sha256_hex(dump(newest))


def check_row(changes: Sequence[HoldChange]) -> None:
    """Raise HistoryCorrupt unless these are all changes of one place since the first that is left, unaltered, in order.

    The first ones may be gone: an erasure removes them, the oldest first.
    """
    before: HoldChange | None = None
    for change in changes:
        if before is None:
            is_next = (change.previous == FIRST_HASH) == (change.key.number == FIRST_NUMBER)
        else:
            is_next = (change.key, change.previous) == following(before, change.key.place)
        if not is_next:
            raise HistoryCorrupt("A change of a legal hold is missing or was altered.", hold=change.key.blob_name)
        before = change
