"""What the fake remembers: per user and tenant, with a clock and ids that are the same in every run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from memnet_client.testing.json_patch import Json
from memnet_client.testing.refusals import Refusal
from memnet_client.testing.rules import Profile

Place = tuple[str, str]
"""Namespace and path of a document."""


def text_of(moment: datetime) -> str:
    """Write a time as the service does: RFC 3339 in UTC with six decimals."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def moment_of(text: Json) -> datetime:
    """Read an RFC 3339 time. Raises Refusal MALFORMED_REQUEST."""
    try:
        moment = datetime.fromisoformat(str(text).upper())
        if moment.tzinfo is None:
            raise ValueError(text)
    except ValueError:
        raise Refusal("MALFORMED_REQUEST", "A time must be an RFC 3339 date-time with an offset.") from None
    return moment.astimezone(UTC)


@dataclass
class Ticks:
    """A clock that starts on 2026-01-01 and advances a millisecond at each reading, and a counter for ids."""

    moment: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    count: int = 0

    def now(self) -> str:
        """Return the next time."""
        self.moment += timedelta(milliseconds=1)
        return text_of(self.moment)

    def new_id(self) -> str:
        """Return the next id, in the form of a UUID."""
        self.count += 1
        return f"00000000-0000-4000-8000-{self.count:012x}"


@dataclass(frozen=True)
class Version:
    """A version of a document; `view` is None after a deletion."""

    sequence: int
    etag: str
    timestamp: str
    view: Json


@dataclass(frozen=True)
class Receipt:
    """An applied request: its identity and its answer."""

    request: str
    body: Json
    created: bool


@dataclass
class Document:
    """A document with its history."""

    doc_id: str
    versions: list[Version] = field(default_factory=list)
    receipts: dict[tuple[str, str], Receipt] = field(default_factory=dict)
    records: list[Json] = field(default_factory=list)

    @property
    def newest(self) -> Version:
        """The version after the last change."""
        return self.versions[-1]

    @property
    def exists(self) -> bool:
        """Whether the last change was no deletion."""
        return self.newest.view is not None


@dataclass
class UserMemory:
    """Everything about one user."""

    documents: dict[Place, Document] = field(default_factory=dict)
    events: dict[str, Json] = field(default_factory=dict)
    snapshots: dict[tuple[str, str], Json] = field(default_factory=dict)
    replays: dict[str, Json] = field(default_factory=dict)
    conflicts: dict[str, Any] = field(default_factory=dict)
    accesses: list[Json] = field(default_factory=list)
    retractions: dict[str, Json] = field(default_factory=dict)
    withdrawn: dict[tuple[str, str], Json] = field(default_factory=dict)
    """The snapshots that retractions have taken out."""

    def at(self, place: Place) -> Document | None:
        """Return an existing document."""
        document = self.documents.get(place)
        return document if document is not None and document.exists else None


@dataclass(frozen=True)
class Erasure:
    """An erasure as it is read, and the receipt that it gets when it ends."""

    view: Json
    receipt: Json

    def end(self, status: str) -> None:
        """End it as "complete" or "partial"."""
        self.view.update(status=status, settled_at=None, receipt={**self.receipt, "status": status})


@dataclass
class Tenant:
    """The users of a tenant, and what outlives their memory: holds and erasures."""

    users: dict[str, UserMemory] = field(default_factory=dict)
    holds: dict[str | None, list[Json]] = field(default_factory=dict)
    """The changes of the hold on each user; None: on the tenant."""
    erasures: dict[tuple[str, str], Erasure] = field(default_factory=dict)
    """By user and erasure id."""
    erasure: Erasure | None = None
    """The erasure of the tenant."""
    reindexing: Json = None

    def held(self, user_id: str | None) -> list[Json]:
        """Return the holds in force that cover a user, or the tenant."""
        found = []
        for covers, target in (("user", user_id), ("tenant", None)):
            changes = self.holds.get(target, []) if covers == "tenant" or target is not None else []
            if changes and changes[-1]["action"] == "placed":
                newest = changes[-1]
                row = {"covers": covers, "reason": newest["reason"], "actor": newest["actor"], "since": newest["at"]}
                found.append(row)
        return found

    def erasing(self, user_id: str) -> Erasure | None:
        """Return the running erasure of a user, or None."""
        found = (one for (whose, _), one in self.erasures.items() if whose == user_id)
        return next((one for one in found if one.view["status"] == "running"), None)


@dataclass
class World:
    """The catalog, the tenants and the clock."""

    profiles: Mapping[str, Profile]
    schemas: Mapping[tuple[str, str], Json]
    ticks: Ticks = field(default_factory=Ticks)
    tenants: dict[str, Tenant] = field(default_factory=dict)
    replays_finish: bool = True
    """Whether a replay finishes when it is read."""
    outcomes: list[Json] = field(default_factory=list)
    """How the next replays finish."""

    def tenant(self, tenant_id: str) -> Tenant:
        """Return a tenant."""
        return self.tenants.setdefault(tenant_id, Tenant())

    def user(self, tenant_id: str, user_id: str) -> UserMemory:
        """Return a user's memory."""
        return self.tenant(tenant_id).users.setdefault(user_id, UserMemory())

    def profile(self, profile_id: str, principal: str) -> Profile:
        """Return a profile for its principals. Raises Refusal PROFILE_NOT_FOUND, PROFILE_FORBIDDEN."""
        found = self.profiles.get(profile_id)
        if found is None:
            raise Refusal("PROFILE_NOT_FOUND", "There is no such profile.")
        if not found.admits(principal):
            raise Refusal("PROFILE_FORBIDDEN", "This principal is not in the profile's allowed_principals.")
        return found

    def check_writable(self, tenant_id: str, user_id: str | None = None) -> None:
        """Raise Refusal TENANT_ENDED or ERASURE_RUNNING while nothing may be written."""
        tenant = self.tenant(tenant_id)
        if tenant.erasure is not None:
            raise Refusal("TENANT_ENDED", "This tenant's memory is being erased or was erased.")
        if user_id is not None and tenant.erasing(user_id):
            raise Refusal("ERASURE_RUNNING", "This user's memory is being erased.")
