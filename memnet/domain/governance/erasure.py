"""The erasure of all that is stored of a user: a fence against writers, and the journal of what was removed.

One record is both. It exists from the acceptance until the receipt, outside of the user's prefix. Every step is a
conditional write of it: a process that takes over continues where the last one was, and that one stops at its next
step.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import orjson

from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import HistoryCorrupt, InvalidIdentifier, MalformedRequest
from memnet.domain.core.job import PENDING_MARKERS as JOB_MARKS
from memnet.domain.core.job import QUEUES
from memnet.domain.core.scope import StorageETag, UserScope, check_identifier
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.core.user_item import ItemKind
from memnet.domain.events.event import PENDING_MARKERS as EVENT_MARKS
from memnet.domain.events.index_layout import REGISTER, tenant_record
from memnet.domain.governance.legal_hold import HoldTarget, tenant_prefix

FENCES = "erasing/"
"""Where the running erasures lie."""
CLEAN_SCANS = 2
"""The number of full scans in a row that must find nothing before a receipt is signed."""


class Store(StrEnum):
    """Where something of a user can be."""

    BLOBS = "blobs"
    INDEX = "index"
    QUEUES = "queues"


INDEXED, MESSAGES = "index_documents", "messages"
"""The kinds counted in the index and in the queues; `kind_of` names those of blobs."""
COPIES = "copies"
"""The kind of earlier versions and snapshots of blobs."""
_COPY = re.compile(r"((versionid|snapshot)=[0-9A-Za-z:.-]{1,64})?")


@dataclass(frozen=True, slots=True)
class Found:
    """Something that is stored of a user, as it was listed: what has another tag by now is something else."""

    name: str
    tag: StorageETag
    copy: str = ""
    """Empty for the blob itself, else which earlier copy of it: "versionid=..." or "snapshot=..."."""
    kept_until: datetime | None = None
    """Set for what is deleted already: until then the storage keeps it recoverable, and refuses to remove it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """A running erasure as its record has it."""

    scope: UserScope
    erasure_id: str
    requested_by: str
    accepted_at: str
    stores: tuple[Store, ...]
    """Those that any process which worked on it knows of; all of them have to be found empty."""
    settle_seconds: int
    """How long writes that began before may still arrive, in the settings of the process that accepted it."""
    started_at: str | None = None
    """When the fence was known to exist and no legal hold was found. None: nothing was deleted yet."""
    removed: Mapping[str, int] = field(default_factory=dict)
    """Deleted items by kind, those in `batch` included."""
    batch: tuple[Found, ...] = ()
    """The blobs being deleted: recorded before the first deletion, so that none is counted twice."""
    clean_scans: int = 0
    failing: Mapping[str, str] = field(default_factory=dict)
    """The stores in which the last run failed, and the code of the error."""
    last_head_sha256: str | None = None
    """The hash of the newest signed head there was, which ties the receipt to what somebody may have kept."""

    def settled_at(self, settle: timedelta) -> datetime | None:
        """The time from which no write can arrive that began before the fence; None if the erasure has not started.

        The longer of both times to wait counts.
        """
        wait = max(settle, timedelta(seconds=self.settle_seconds))
        return None if self.started_at is None else from_text(self.started_at) + wait


def fence_name(scope: UserScope) -> str:
    """The name of the blob of a user's erasure."""
    return f"{fences_of(scope.tenant_id)}{scope.user_id}.json"


def fences_of(tenant_id: str | None) -> str:
    """Where the fences of a tenant lie, or all. Raises InvalidIdentifier."""
    return FENCES if tenant_id is None else f"{FENCES}{check_identifier('tenant_id', tenant_id)}/"


def fenced(name: str) -> UserScope | None:
    """Whose fence this blob is; None for a blob that is none."""
    match name.removeprefix(FENCES).split("/"):
        case [tenant_id, file] if file.endswith(".json"):
            try:
                return UserScope(tenant_id, file.removesuffix(".json"))
            except InvalidIdentifier:
                return None
    return None


def erasure_id_of(scope: UserScope, idempotency_key: str) -> str:
    """Return the id of a request's erasure: the same request again is the same erasure, also after it has ended.

    The key is what keeps others from finding the user by the id.
    """
    return sha256_hex(canonical(["erasure", scope.tenant_id, scope.user_id, idempotency_key]))[:32]


@dataclass(frozen=True, slots=True)
class TenantScope:
    """A whole tenant, where a user could be named as well. Raises InvalidIdentifier."""

    tenant_id: str
    user_id: None = None

    def __post_init__(self) -> None:
        check_identifier("tenant_id", self.tenant_id)

    @property
    def prefix(self) -> str:
        """Where the memory of the tenant's users lies."""
        return f"tenants/{self.tenant_id}/"


Whose = UserScope | TenantScope


def prefixes_of(scope: Whose) -> Sequence[str]:
    """Where anything of a user or tenant can lie, a user's keys first: without them what was sealed is dead at once.

    A prefix without a slash at the end is the name of a single blob.
    """
    if isinstance(scope, TenantScope):
        tenant_id = scope.tenant_id
        return (
            scope.prefix,
            f"{EVENT_MARKS}{tenant_id}/",
            *(f"{JOB_MARKS}{kind}/{tenant_id}/" for kind in QUEUES),
            tenant_prefix(tenant_id),
            f"{REGISTER}{tenant_record(tenant_id)}.json",
        )
    whose = f"{scope.tenant_id}/{scope.user_id}/"
    return (
        f"{scope.prefix}{ItemKind.KEYS}/",
        scope.prefix,
        f"{EVENT_MARKS}{whose}",
        *(f"{JOB_MARKS}{kind}/{whose}" for kind in QUEUES),
        HoldTarget(scope.tenant_id, scope.user_id).prefix,
    )


def is_of(scope: Whose, name: str) -> bool:
    """Whether a blob of this name is the user's or tenant's; none is whose name leads out of its folder in a URL."""
    is_below = any(name.startswith(one) if one.endswith("/") else name == one for one in prefixes_of(scope))
    return is_below and not {".", ".."} & set(name.split("/"))


def user_of(scope: TenantScope, name: str) -> UserScope | None:
    """Whose of the tenant's users a blob is; None for what is the tenant's own."""
    match name.split("/"):
        case ["tenants" | "holds", scope.tenant_id, "users", user_id, *_]:
            pass
        case ["repairs", "events", scope.tenant_id, user_id, *_]:
            pass
        case ["repairs", "jobs", _, scope.tenant_id, user_id, *_]:
            pass
        case _:
            return None
    try:
        return UserScope(scope.tenant_id, user_id)
    except InvalidIdentifier:
        return None


def kind_of(scope: UserScope, name: str) -> str:
    """Return the kind of a user's blob: the folder below the user's prefix, "marks" or "holds"."""
    if name.startswith(scope.prefix):
        return name.removeprefix(scope.prefix).partition("/")[0]
    return "holds" if name.startswith(HoldTarget(scope.tenant_id, scope.user_id).prefix) else "marks"


def begun(
    scope: UserScope,
    erasure_id: str,
    *,
    by: str,
    at: datetime,
    stores: tuple[Store, ...],
    settle: timedelta,
    last_head_sha256: str | None,
) -> Erasure:
    """An erasure that was asked for."""
    return Erasure(
        scope=scope,
        erasure_id=erasure_id,
        requested_by=by,
        accepted_at=to_text(at),
        stores=stores,
        settle_seconds=math.ceil(settle.total_seconds()),
        last_head_sha256=last_head_sha256,
    )


def started(erasure: Erasure, now: datetime) -> Erasure:
    """Record that the fence exists and no legal hold forbids the erasure; the first time counts."""
    return replace(erasure, started_at=erasure.started_at or to_text(now))


def begin_batch(erasure: Erasure, batch: Sequence[Found]) -> Erasure:
    """Count this as removed, which it will be whatever happens now."""
    return replace(counted(erasure, _kinds(erasure, batch)), batch=tuple(batch), clean_scans=0)


def end_batch(erasure: Erasure, kept: Sequence[Found] = ()) -> Erasure:
    """Record that the batch was deleted, except for the blobs in `kept`."""
    removed = Counter(erasure.removed) - _kinds(erasure, kept)
    return replace(erasure, batch=(), removed=dict(removed))


def _kinds(erasure: Erasure, found: Sequence[Found]) -> Counter[str]:
    return Counter(COPIES if one.copy else kind_of(erasure.scope, one.name) for one in found)


def counted(erasure: Erasure, found: Mapping[str, int]) -> Erasure:
    """Count what was removed."""
    found = {kind: number for kind, number in found.items() if number}
    if not found:
        return erasure
    total = dict(Counter(erasure.removed) + Counter(found))
    return replace(erasure, removed=total, clean_scans=0)


def scanned(erasure: Erasure, *, clean: bool) -> Erasure:
    """Note a whole scan of all stores."""
    return replace(erasure, clean_scans=erasure.clean_scans + 1 if clean else 0)


def is_proven(erasure: Erasure) -> bool:
    """Whether enough scans in a row were clean."""
    return erasure.clean_scans >= CLEAN_SCANS


def dump(erasure: Erasure) -> bytes:
    """Write it."""
    return canonical(
        {
            "erasure_version": 1,
            "tenant_id": erasure.scope.tenant_id,
            "user_id": erasure.scope.user_id,
            "erasure_id": erasure.erasure_id,
            "requested_by": erasure.requested_by,
            "accepted_at": erasure.accepted_at,
            "stores": [store.value for store in erasure.stores],
            "settle_seconds": erasure.settle_seconds,
            "started_at": erasure.started_at,
            "removed": dict(erasure.removed),
            "batch": [[one.name, one.tag, one.copy] for one in erasure.batch],
            "clean_scans": erasure.clean_scans,
            "failing": dict(erasure.failing),
            "last_head_sha256": erasure.last_head_sha256,
        }
    )


def load(scope: UserScope, data: bytes) -> Erasure:
    """Read what `dump` wrote of this user's erasure. Raises HistoryCorrupt: a fence that cannot be read is still
    one."""
    try:
        members: dict[str, Any] = orjson.loads(data)
        found = Erasure(
            scope=UserScope(members["tenant_id"], members["user_id"]),
            erasure_id=check_identifier("erasure_id", members["erasure_id"]),
            requested_by=members["requested_by"],
            accepted_at=to_text(from_text(members["accepted_at"])),
            stores=tuple(Store(name) for name in members["stores"]),
            settle_seconds=members["settle_seconds"],
            started_at=_time(members["started_at"]),
            removed=members["removed"],
            batch=tuple(Found(name, StorageETag(tag), copy) for name, tag, copy in members["batch"]),
            clean_scans=members["clean_scans"],
            failing=members["failing"],
            last_head_sha256=members["last_head_sha256"],
        )
        if found.scope == scope and dump(found) == data and _is_sound(found):
            return found
    except (ValueError, KeyError, TypeError, AttributeError, InvalidIdentifier, MalformedRequest):
        pass
    raise HistoryCorrupt("The record of an erasure cannot be read.")


def _time(text: str | None) -> str | None:
    return None if text is None else to_text(from_text(text))


def _is_sound(found: Erasure) -> bool:
    """Return whether every member has its type and the batch is the user's: the next process trusts them."""
    numbers = [*found.removed.values(), found.clean_scans, found.settle_seconds]
    texts: list[Any] = [found.requested_by, *found.failing.values(), *(one.tag for one in found.batch)]
    texts += [] if found.last_head_sha256 is None else [found.last_head_sha256]
    return (
        all(type(number) is int and number >= 0 for number in numbers)
        and all(isinstance(text, str) for text in texts)
        and all(is_of(found.scope, one.name) and _COPY.fullmatch(one.copy) for one in found.batch)
    )
