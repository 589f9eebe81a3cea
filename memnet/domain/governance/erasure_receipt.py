"""The signed receipt of an erasure: counts of what was deleted and what remains, and no content.

It is verified offline with the public keys of the service. It names the user only by a salted hash of the ids.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field

from memnet.domain.core import signature
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import HistoryCorrupt
from memnet.domain.core.scope import UserScope, check_identifier
from memnet.domain.core.signature import PublicKey, SigningKey
from memnet.domain.core.timestamps import to_text
from memnet.domain.governance.erasure import Erasure, Found, Status, kind_of
from memnet.domain.sealing.sealing import from_base64, to_base64

RECEIPTS = "erasures/"
"""The prefix of the receipts, outside of the users' prefixes."""
RECEIPT_VERSION = 1
PURPOSE = "memnet-erasure-1"
SALT_BYTES = 32
SIGNATURE_BYTES = 64
LEGAL_HOLD = "legal_hold"
SOFT_DELETE = "soft_delete"
"""Why data remains: a legal hold, or the storage's soft delete."""
LATE = "late_writes"
"""The kind of data under a hold that may still arrive after the last listing."""
Count = Annotated[int, Field(ge=0)]


class Remainder(BaseModel):
    """The remaining data of one kind: how much, why, and until when if that is known."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    kind: str
    count: Count
    reason: str
    covers: str | None
    """The target of the hold that keeps it: "user" or "tenant"; None: no hold."""
    until: str | None


class ReceiptForm(BaseModel):
    """The members of the receipts of users and of tenants."""

    model_config = ConfigDict(strict=True, extra="forbid")

    receipt_version: Annotated[int, Field(ge=RECEIPT_VERSION, le=RECEIPT_VERSION)]
    erasure_id: str
    tenant_id: str
    salt: str
    status: Literal["complete", "partial"]
    requested_by: str
    accepted_at: str
    finished_at: str
    stores: list[str]
    remaining: list[Remainder]
    clean_scans: Count
    recoverable_until: str | None
    key_id: str
    signature: str

    def is_sound(self, *, is_partial: bool) -> bool:
        """Return whether the salt, the signature and the status are those of a receipt that is partial, or is not."""
        texts = is_whole(self.salt, SALT_BYTES) and is_whole(self.signature, SIGNATURE_BYTES)
        return texts and (self.status == "partial") == is_partial


class _Members(ReceiptForm):
    """The members of a user's receipt."""

    user_hash: str
    removed: dict[str, Count]
    last_head_sha256: str | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """A parsed receipt: its members and its bytes."""

    members: Mapping[str, Any]
    data: bytes

    @property
    def status(self) -> Status:
        """COMPLETE or PARTIAL."""
        return Status(self.members["status"])

    def is_of(self, scope: UserScope) -> bool:
        """Return whether it is the receipt of this user's erasure."""
        salt = from_base64(self.members["salt"])
        return bool(self.members["user_hash"] == user_hash(scope, salt))


@dataclass(frozen=True, slots=True)
class ErasureStatus:
    """The status of an erasure; one with a receipt has ended."""

    erasure_id: str
    status: Status
    accepted_at: str
    removed: Mapping[str, int]
    failing: Mapping[str, str]
    """The stores that keep it from ending, with the error code."""
    settled_at: str | None
    """The erasure cannot end before this time, because writes may still arrive. None: it has ended, or not started."""
    receipt: Mapping[str, Any] | None

    def to_json(self) -> dict[str, Any]:
        """Return the members of the response."""
        return {**asdict(self), "status": self.status.value}


def running(erasure: Erasure, settle: timedelta) -> ErasureStatus:
    """Return the status of an erasure that has a fence."""
    settled_at = erasure.settled_at(settle)
    return ErasureStatus(
        erasure_id=erasure.erasure_id,
        status=Status.RUNNING,
        accepted_at=erasure.accepted_at,
        removed=dict(erasure.removed),
        failing=dict(erasure.failing),
        settled_at=None if settled_at is None else to_text(settled_at),
        receipt=None,
    )


def ended(receipt: Receipt) -> ErasureStatus:
    """Return the status of an erasure that has its receipt."""
    return ErasureStatus(
        erasure_id=receipt.members["erasure_id"],
        status=receipt.status,
        accepted_at=receipt.members["accepted_at"],
        removed=receipt.members["removed"],
        failing={},
        settled_at=None,
        receipt=receipt.members,
    )


def receipt_name(tenant_id: str, erasure_id: str) -> str:
    """Return the blob name of a receipt. Raises InvalidIdentifier."""
    return f"{receipts_of(tenant_id)}{check_identifier('erasure_id', erasure_id)}.json"


def receipts_of(tenant_id: str) -> str:
    """Return the prefix of a tenant's receipts. Raises InvalidIdentifier."""
    return f"{RECEIPTS}{check_identifier('tenant_id', tenant_id)}/"


def user_hash(scope: UserScope, salt: bytes) -> str:
    """Return the salted hash of a user in a receipt, for a reader who knows the ids."""
    return sha256_hex(salt + canonical([scope.tenant_id, scope.user_id]))


def withheld(kept: Mapping[str, int], covers: str) -> Sequence[Remainder]:
    """Return the data that a hold on `covers` keeps, by kind."""
    # A write in flight may still arrive after the last listing, so the receipt never says that nothing remains.
    counts = kept or {LATE: 0}
    return [
        Remainder(kind=kind, count=count, reason=LEGAL_HOLD, covers=covers, until=None)
        for kind, count in sorted(counts.items())
    ]


def recoverable(scope: UserScope, found: Iterable[Found]) -> Sequence[Remainder]:
    """Return the soft-deleted data by kind, each with the time at which its last blob expires."""
    counts, until = Counter[str](), dict[str, datetime]()
    for one in found:
        if one.kept_until is not None:
            kind = kind_of(scope, one.name)
            counts[kind] += 1
            until[kind] = max(until.get(kind, one.kept_until), one.kept_until)
    return [
        Remainder(kind=kind, count=counts[kind], reason=SOFT_DELETE, covers=None, until=to_text(until[kind]))
        for kind in sorted(counts)
    ]


def make_receipt(
    erasure: Erasure,
    remaining: Sequence[Remainder],
    *,
    finished_at: datetime,
    salt: bytes,
    key: SigningKey,
) -> bytes:
    """Create the signed receipt: PARTIAL if data remains, else COMPLETE."""
    members = {
        "erasure_id": erasure.erasure_id,
        "tenant_id": erasure.scope.tenant_id,
        "user_hash": user_hash(erasure.scope, salt),
        "requested_by": erasure.requested_by,
        "accepted_at": erasure.accepted_at,
        "stores": [store.value for store in erasure.stores],
        "removed": dict(erasure.removed),
        "clean_scans": erasure.clean_scans,
        "last_head_sha256": erasure.last_head_sha256,
    }
    return canonical(sign_members(members, remaining, PURPOSE, finished_at=finished_at, salt=salt, key=key))


def sign_members(
    own: Mapping[str, Any],
    remaining: Sequence[Remainder],
    purpose: str,
    *,
    finished_at: datetime,
    salt: bytes,
    key: SigningKey,
    is_partial: bool = False,
) -> dict[str, Any]:
    """Return the members of a signed receipt: PARTIAL if data remains, or it `is_partial` for its own reason."""
    kept = [one.until for one in remaining if one.reason == SOFT_DELETE and one.until is not None]
    members = {
        **own,
        "receipt_version": RECEIPT_VERSION,
        "salt": to_base64(salt),
        "status": (Status.PARTIAL if remaining or is_partial else Status.COMPLETE).value,
        "finished_at": to_text(finished_at),
        "remaining": [one.model_dump() for one in remaining],
        "recoverable_until": max(kept, default=None),
        "key_id": key.public.key_id,
    }
    return members | {"signature": to_base64(signature.sign(key, purpose, canonical(members)))}


def read_receipt(data: bytes) -> Receipt:
    """Parse a receipt. Raises HistoryCorrupt for any bytes that `make_receipt` does not return."""
    try:
        members: dict[str, Any] = orjson.loads(data)
        shape = _Members.model_validate(members)
        if shape.is_sound(is_partial=bool(shape.remaining)) and canonical(members) == data:
            return Receipt(members, data)
    except ValueError:  # ValidationError is one, too.
        pass
    raise HistoryCorrupt("The receipt of an erasure cannot be read.")


def is_whole(text: str, size: int) -> bool:
    """Return whether this is the canonical base64 text of so many bytes: decoding ignores some trailing bits."""
    raw = from_base64(text)
    return len(raw) == size and to_base64(raw) == text


def is_signed(receipt: Receipt, key: PublicKey) -> bool:
    """Return whether the receipt is signed with this key."""
    return is_signed_for(PURPOSE, receipt.members, key)


def is_signed_for(purpose: str, members: Mapping[str, Any], key: PublicKey) -> bool:
    """Return whether the members of a receipt are signed with this key for this purpose."""
    unsigned = {name: value for name, value in members.items() if name != "signature"}
    return signature.holds(key, purpose, canonical(unsigned), from_base64(members["signature"]))
