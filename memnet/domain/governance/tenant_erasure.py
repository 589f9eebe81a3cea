"""The end of a tenant: one record that is the tenant's fence, the journal of its erasure and, at last, its receipt.

The record is never removed: while it is there, nothing is written for the tenant.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import orjson

from memnet.domain.core import signature
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import HistoryCorrupt, InvalidIdentifier, MalformedRequest
from memnet.domain.core.scope import UserScope, check_identifier
from memnet.domain.core.signature import PublicKey, SigningKey
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.governance.erasure import CLEAN_SCANS, Found, Store
from memnet.domain.governance.erasure_receipt import (
    SALT_BYTES,
    SIGNATURE_BYTES,
    SOFT_DELETE,
    Remainder,
    is_whole,
    user_hash,
)
from memnet.domain.sealing.sealing import from_base64, to_base64

ENDED = "ended/"
"""Where the records lie."""
LOOK_EVERY = timedelta(seconds=60)
"""At most so long a process goes by its last look at a tenant's fence."""
PURPOSE = "memnet-tenant-erasure-1"
"""The purpose of a receipt's signature."""
BLOBS = "blobs"
"""The kind under which a receipt counts the remaining blobs of a tenant."""
_VERSION = 1


class TenantStatus(StrEnum):
    """The status of a tenant's erasure. PARTIAL: it has ended for now, and the receipt names the remaining data."""

    RUNNING = "running"
    COMPLETE = "complete"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantErasure:
    """The erasure of a tenant as its record has it."""

    tenant_id: str
    erasure_id: str
    requested_by: str
    accepted_at: str
    stores: tuple[Store, ...]
    """Those that any process which worked on it knows of."""
    standing_since: str | None = None
    """When the fence was first seen."""
    users: int = 0
    """How many users' erasures it has begun."""
    starting: tuple[str, ...] = ()
    """The ids of users who are counted in `users` and whose erasures may not have begun."""
    clean_scans: int = 0
    failing: dict[str, str] = field(default_factory=dict)
    """The failing parts with their error codes: a store, the vault, a user's erasure or a legal hold."""
    receipt: dict[str, Any] | None = None
    """The signed receipt of the last run; None while it runs."""

    @property
    def status(self) -> TenantStatus:
        """The status."""
        return TenantStatus.RUNNING if self.receipt is None else TenantStatus(self.receipt["status"])

    def known_everywhere_at(self, settle: timedelta) -> datetime | None:
        """The time from which every process has seen the fence; None if none is known to have seen it."""
        return None if self.standing_since is None else from_text(self.standing_since) + look_every(settle)

    def settled_at(self, settle: timedelta) -> datetime | None:
        """The time from which no write can arrive that began before every process had seen the fence."""
        known_at = self.known_everywhere_at(settle)
        return None if known_at is None else known_at + settle

    def members(self, settle: timedelta) -> dict[str, Any]:
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
    """How long a process goes by its last look, if what was begun may arrive for `settle`."""
    return min(LOOK_EVERY, settle / 2)


def ended_name(tenant_id: str) -> str:
    """The name of a tenant's record. Raises InvalidIdentifier."""
    return f"{ENDED}{check_identifier('tenant_id', tenant_id)}.json"


def standing(erasure: TenantErasure, now: datetime) -> TenantErasure:
    """Note that the fence has been seen; the first to do so counts."""
    return replace(erasure, standing_since=erasure.standing_since or to_text(now))


def resumed(erasure: TenantErasure, *, by: str, at: datetime) -> TenantErasure:
    """Run a partial one again: the fence has stood all the time, and what was counted stays counted."""
    return replace(erasure, requested_by=by, accepted_at=to_text(at), receipt=None, clean_scans=0, failing={})


def starting(erasure: TenantErasure, user_ids: Sequence[str]) -> TenantErasure:
    """Count these users, each once, before their erasures are requested."""
    new = len(set(user_ids) - set(erasure.starting))
    return replace(erasure, users=erasure.users + new, starting=tuple(sorted(set(user_ids))), clean_scans=0)


def scanned(erasure: TenantErasure, *, clean: bool) -> TenantErasure:
    """Note a whole scan of the tenant."""
    return replace(erasure, clean_scans=erasure.clean_scans + 1 if clean else 0, failing={})


def is_proven(erasure: TenantErasure) -> bool:
    """Whether enough scans in a row were clean."""
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
    """Sign what became of it: PARTIAL if users are left under a legal hold, or deleted blobs can be recovered."""
    until = max((to_text(one.kept_until) for one in kept if one.kept_until is not None), default=None)
    remaining = [Remainder(BLOBS, len(kept), SOFT_DELETE, None, until)] if kept else []
    members: dict[str, Any] = {
        "receipt_version": _VERSION,
        "erasure_id": erasure.erasure_id,
        "tenant_id": erasure.tenant_id,
        "salt": to_base64(salt),
        "status": (TenantStatus.PARTIAL if left or remaining else TenantStatus.COMPLETE).value,
        "requested_by": erasure.requested_by,
        "accepted_at": erasure.accepted_at,
        "finished_at": to_text(finished_at),
        "stores": [store.value for store in erasure.stores],
        "users": erasure.users,
        "users_held": sorted(user_hash(scope, salt) for scope in left),
        "remaining": [asdict(one) for one in remaining],
        "clean_scans": erasure.clean_scans,
        "recoverable_until": until,
        "key_id": key.public.key_id,
    }
    receipt = members | {"signature": to_base64(signature.sign(key, PURPOSE, canonical(members)))}
    return replace(erasure, receipt=receipt, starting=(), failing={})


def is_signed(receipt: dict[str, Any], key: PublicKey) -> bool:
    """Say whether the receipt is what the owner of this key signed."""
    unsigned = {name: value for name, value in receipt.items() if name != "signature"}
    return signature.holds(key, PURPOSE, canonical(unsigned), from_base64(receipt["signature"]))


def holds_back(receipt: dict[str, Any], scope: UserScope) -> bool:
    """Say whether the receipt names this user as left under a legal hold."""
    return user_hash(scope, from_base64(receipt["salt"])) in receipt["users_held"]


def read_receipt(data: bytes) -> dict[str, Any]:
    """Read a separate receipt. Raises HistoryCorrupt if it is not one."""
    try:
        found = orjson.loads(data)
        if _is_receipt(found) and canonical(found) == data:
            members: dict[str, Any] = found
            return members
    except (ValueError, KeyError, TypeError):
        pass
    raise HistoryCorrupt("The receipt of a tenant's erasure cannot be read.")


def _is_receipt(found: Any) -> bool:
    names = {
        *("receipt_version", "erasure_id", "tenant_id", "salt", "status", "requested_by", "accepted_at"),
        *("finished_at", "stores", "users", "users_held", "remaining", "clean_scans", "recoverable_until"),
        *("key_id", "signature"),
    }
    return (
        isinstance(found, dict)
        and found.keys() == names
        and found["receipt_version"] == _VERSION
        and (found["status"] == "partial") == bool(found["users_held"] or found["remaining"])
        and found["status"] in ("partial", "complete")
        and is_whole(found["salt"], SALT_BYTES)
        and is_whole(found["signature"], SIGNATURE_BYTES)
    )


def dump(erasure: TenantErasure) -> bytes:
    """Write it."""
    return canonical({"tenant_erasure_version": _VERSION, **asdict(erasure)})


def load(tenant_id: str, data: bytes) -> TenantErasure:
    """Read what `dump` wrote of this tenant. Raises HistoryCorrupt: a fence that cannot be read is still one."""
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
