"""The erasure of a tenant: one record that is the tenant's fence, its journal and finally its receipt.

The record is never deleted: as long as it exists, nothing is written for the tenant.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import orjson

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import HistoryCorrupt, InvalidIdentifier, MalformedRequest
from memnet.domain.core.scope import UserScope, check_identifier
from memnet.domain.core.signature import PublicKey, SigningKey
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.governance.erasure import CLEAN_SCANS, Found, Status, Store
from memnet.domain.governance.erasure_receipt import (
    SOFT_DELETE,
    Count,
    ReceiptForm,
    Remainder,
    is_signed_for,
    sign_members,
    user_hash,
)
from memnet.domain.sealing.sealing import from_base64

ENDED = "ended/"
LOOK_EVERY = timedelta(seconds=60)
"""The longest time for which a process relies on its last check of a tenant's fence."""
PURPOSE = "memnet-tenant-erasure-1"
BLOBS = "blobs"
"""The kind under which a receipt counts the remaining blobs of a tenant."""
_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantErasure:
    """The record of a tenant's erasure."""

    tenant_id: str
    erasure_id: str
    requested_by: str
    accepted_at: str
    stores: tuple[Store, ...]
    """The stores that must be empty before it ends."""
    standing_since: str | None = None
    users: int = 0
    """The number of users whose erasures it has requested."""
    starting: tuple[str, ...] = ()
    """The ids of the users counted in `users` whose erasures may not have been requested."""
    clean_scans: int = 0
    failing: dict[str, str] = field(default_factory=dict)
    """The failing parts with their error codes: a store, the vault, a user's erasure or a legal hold."""
    receipt: dict[str, Any] | None = None
    """The signed receipt of the last run; None while it runs."""

    @property
    def status(self) -> Status:
        """PARTIAL: it has ended for now; the receipt says what remains, and a new request runs it again."""
        return Status.RUNNING if self.receipt is None else Status(self.receipt["status"])

    def known_everywhere_at(self, settle: timedelta) -> datetime | None:
        """Return when every process has read the fence; None if no process has."""
        return None if self.standing_since is None else from_text(self.standing_since) + look_every(settle)

    def settled_at(self, settle: timedelta) -> datetime | None:
        """Return when no write can arrive any more that began before every process had read the fence."""
        known_at = self.known_everywhere_at(settle)
        return None if known_at is None else known_at + settle

    def to_json(self, settle: timedelta) -> dict[str, Any]:
        """Return the members of the response, without user ids."""
        settled_at = self.settled_at(settle) if self.receipt is None else None
        return {
            "erasure_id": self.erasure_id,
            "status": self.status.value,
            "accepted_at": self.accepted_at,
            "users": self.users,
            "failing": self.failing,
            "settled_at": None if settled_at is None else to_text(settled_at),
            "receipt": self.receipt,
        }


def look_every(settle: timedelta) -> timedelta:
    """Return how long a process relies on its last check, if writes may arrive for `settle`."""
    return min(LOOK_EVERY, settle / 2)


def ended_name(tenant_id: str) -> str:
    """Return the blob name of a tenant's record. Raises InvalidIdentifier."""
    return f"{ENDED}{check_identifier('tenant_id', tenant_id)}.json"


def fence_read(erasure: TenantErasure, now: datetime) -> TenantErasure:
    """Record that a process has read the fence; the first time counts."""
    return replace(erasure, standing_since=erasure.standing_since or to_text(now))


def resumed(erasure: TenantErasure, *, by: str, at: datetime) -> TenantErasure:
    """Run a partial erasure again; the fence has never been lifted, and the counts stay."""
    return replace(erasure, requested_by=by, accepted_at=to_text(at), receipt=None, clean_scans=0, failing={})


def starting(erasure: TenantErasure, user_ids: Sequence[str]) -> TenantErasure:
    """Count these users, each once, before their erasures are requested."""
    new = len(set(user_ids) - set(erasure.starting))
    return replace(erasure, users=erasure.users + new, starting=tuple(sorted(set(user_ids))), clean_scans=0)


def scanned(erasure: TenantErasure, *, clean: bool) -> TenantErasure:
    """Record a full scan of the tenant."""
    return replace(erasure, clean_scans=erasure.clean_scans + 1 if clean else 0, failing={})


def is_proven(erasure: TenantErasure) -> bool:
    """Return whether enough consecutive scans were clean."""
    return erasure.clean_scans >= CLEAN_SCANS


def signed(
    erasure: TenantErasure,
    *,
    left: Sequence[UserScope],
    kept: Sequence[Found],
    finished_at: datetime,
    salt: bytes,
    key: SigningKey,
) -> TenantErasure:
    """Add the signed receipt: PARTIAL if users are left under a legal hold, or deleted blobs can be recovered."""
    until = max((to_text(one.kept_until) for one in kept if one.kept_until is not None), default=None)
    soft_deleted = Remainder(kind=BLOBS, count=len(kept), reason=SOFT_DELETE, covers=None, until=until)
    remaining = [soft_deleted] if kept else []
    members = {
        "erasure_id": erasure.erasure_id,
        "tenant_id": erasure.tenant_id,
        "requested_by": erasure.requested_by,
        "accepted_at": erasure.accepted_at,
        "stores": [store.value for store in erasure.stores],
        "users": erasure.users,
        "users_held": sorted(user_hash(scope, salt) for scope in left),
        "clean_scans": erasure.clean_scans,
    }
    receipt = sign_members(
        members, remaining, PURPOSE, finished_at=finished_at, salt=salt, key=key, is_partial=bool(left)
    )
    return replace(erasure, receipt=receipt, starting=(), failing={})


def is_signed(receipt: dict[str, Any], key: PublicKey) -> bool:
    """Return whether the receipt is signed with this key."""
    return is_signed_for(PURPOSE, receipt, key)


def holds_back(receipt: dict[str, Any], scope: UserScope) -> bool:
    """Return whether the receipt names this user as left under a legal hold."""
    return user_hash(scope, from_base64(receipt["salt"])) in receipt["users_held"]


def read_receipt(data: bytes) -> dict[str, Any]:
    """Parse a separate receipt. Raises HistoryCorrupt if it is not one."""
    try:
        found = orjson.loads(data)
        if _is_receipt(found) and canonical(found) == data:
            members: dict[str, Any] = found
            return members
    except (ValueError, KeyError, TypeError):
        pass
    raise HistoryCorrupt("The receipt of a tenant's erasure cannot be read.")


class _Members(ReceiptForm):
    """The members of a tenant's receipt."""

    users: Count
    users_held: list[str]


def _is_receipt(found: Any) -> bool:
    form = _Members.model_validate(found)
    return form.is_sound(is_partial=bool(form.users_held or form.remaining))


def dump(erasure: TenantErasure) -> bytes:
    """Serialize an erasure."""
    return canonical({"tenant_erasure_version": _VERSION, **asdict(erasure)})


def load(tenant_id: str, data: bytes) -> TenantErasure:
    """Parse what `dump` returned for this tenant. Raises HistoryCorrupt: an unreadable fence is still a fence."""
    try:
        members: dict[str, Any] = orjson.loads(data)
        del members["tenant_erasure_version"]
        members["stores"] = tuple(Store(name) for name in members["stores"])
        members["starting"] = tuple(check_identifier("user_id", one) for one in members["starting"])
        found = TenantErasure(**members)
        is_sound = type(found.users) is int and type(found.clean_scans) is int and isinstance(found.failing, dict)
        since = found.standing_since is None or to_text(from_text(found.standing_since)) == found.standing_since
        is_receipt = found.receipt is None or _is_receipt(found.receipt)
        if found.tenant_id == tenant_id and dump(found) == data and is_sound and since and is_receipt:
            return found
    except (ValueError, KeyError, TypeError, AttributeError, InvalidIdentifier, MalformedRequest):
        pass
    raise HistoryCorrupt("The record of a tenant's erasure cannot be read.")
