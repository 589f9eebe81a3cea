"""The marks of what waits for a person: each names a user, and the item that waits or did wait.

A mark exists before the write that makes the item wait. It is removed when the item no longer waits and the mark is
older than any request: so a crash or a race leaves at most a mark too many, which costs one look at the item.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from memnet.domain.core.errors import InvalidIdentifier
from memnet.domain.core.scope import UserScope, check_identifier

WAITING = "waiting/"
TENANT: Final = "tenant"
"""The value of `decides` of a pending item that an administrator of the tenant decides."""
SETTLE = timedelta(hours=2)
"""How long after its hour a mark may still announce a write: no request and no run of a worker takes longer."""
_HOUR = "%Y%m%dT%H"


class WaitingKind(StrEnum):
    """What waits for a person."""

    PENDING = "pending"
    """A document with pending items that the tenant does not decide."""
    QUESTION = "question"
    """A document with pending items that the tenant decides."""
    CONFLICT = "conflict"
    """An open conflict."""
    FAILED_REPLAY = "failed_replay"
    """A failed replay."""
    ERASURE = "erasure"
    """An erasure that runs, or that a legal hold has prevented."""
    DEAD_LETTER = "dead_letter"
    """A job whose record cannot be read."""
    RETRACTION = "retraction"
    """A retraction that is planned and not applied, or that has failed."""


@dataclass(frozen=True, slots=True)
class WaitingMark:
    """An item of a user that a write in an hour, such as "20260214T20" (UTC), has made wait."""

    scope: UserScope
    kind: WaitingKind
    hour: str
    item: str
    """A document's "{namespace}/{path}", an id, or a job's "{kind}/{job_id}"."""

    @property
    def blob_name(self) -> str:
        """The name of its blob."""
        return f"{waiting_of(self.scope, self.kind)}{self.hour}/{self.item}"

    @property
    def began(self) -> datetime:
        """When its hour began."""
        return datetime.strptime(self.hour, _HOUR).replace(tzinfo=UTC)

    def is_settled(self, now: datetime) -> bool:
        """Return whether every write that it announces has arrived or was refused."""
        return self.began + timedelta(hours=1) + SETTLE <= now


def kind_of(item: Mapping[str, Any]) -> WaitingKind:
    """Return the kind under which a pending item waits: each item has one."""
    return WaitingKind.QUESTION if item.get("decides") == TENANT else WaitingKind.PENDING


def kinds_of(items: Iterable[Mapping[str, Any]]) -> list[WaitingKind]:
    """Return the kinds of the marks that a document with new pending items needs."""
    found = {kind_of(item) for item in items}
    return [kind for kind in WaitingKind if kind in found]


def waiting_mark(scope: UserScope, kind: WaitingKind, item: str, now: datetime) -> WaitingMark:
    """Return the mark that a write at this moment needs."""
    return WaitingMark(scope, kind, now.astimezone(UTC).strftime(_HOUR), item)


def waiting_in(tenant_id: str, kind: WaitingKind) -> str:
    """Return the prefix of a tenant's marks of one kind. Raises InvalidIdentifier."""
    return f"{WAITING}{check_identifier('tenant_id', tenant_id)}/{kind}/"


def waiting_of(scope: UserScope, kind: WaitingKind) -> str:
    """Return the prefix of a user's marks of one kind."""
    return f"{waiting_in(scope.tenant_id, kind)}{scope.user_id}/"


def read_waiting(name: str) -> WaitingMark | None:
    """Return the mark with this blob name, or None if it is no name of one."""
    match name.split("/", 5):
        case ["waiting", tenant_id, kind, user_id, hour, item] if item:
            try:
                datetime.strptime(hour, _HOUR)
                mark = WaitingMark(UserScope(tenant_id, user_id), WaitingKind(kind), hour, item)
            except (ValueError, InvalidIdentifier):
                return None
            return mark if mark.began.strftime(_HOUR) == hour else None
    return None
