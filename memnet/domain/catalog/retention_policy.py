"""Retention: the rules of profiles within the limits of the organisation, and the report of a run.

Days are counted from when an item was recorded. An item that is exactly as old as its rule allows has expired.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from pydantic import Field

from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.rule_types import Days, Identifier, ProfilePart
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.json_types import Record
from memnet.domain.core.timestamps import from_text, to_text

SKEW = timedelta(hours=1)
"""How long a writer may still date a record in a month that has ended: more than the difference of two clocks, because
Azure Storage refuses requests that are dated more than 15 minutes before or after its own."""
_MONTH = len("2026-01")


class Kind(StrEnum):
    """The kinds with a rule of their own; the prefix of the names of their limits."""

    SNAPSHOTS = "snapshots"
    EVENTS = "events"
    AUDIT = "audit"
    JOBS = "jobs"
    """Replays, conflicts, and the records of snapshot reads, imports and usage."""


class Limits(ProfilePart):
    """The minimum and maximum days of each kind; None: no limit."""

    snapshots_min_days: Days | None = None
    snapshots_max_days: Days | None = None
    events_min_days: Days | None = None
    events_max_days: Days | None = None
    audit_min_days: Days | None = None
    audit_max_days: Days | None = None
    jobs_min_days: Days | None = None
    jobs_max_days: Days | None = None

    def least(self, kind: Kind) -> int | None:
        """Return the minimum."""
        days: int | None = getattr(self, f"{kind}_min_days")
        return days

    def most(self, kind: Kind) -> int | None:
        """Return the maximum."""
        days: int | None = getattr(self, f"{kind}_max_days")
        return days


class Ceilings(Limits):
    """The limits of the organisation, and those of single tenants, which override them."""

    tenants: dict[Identifier, Limits] = Field(default_factory=dict)

    def of(self, tenant_id: str) -> Limits:
        """Return the limits of a tenant: each its own, else the organisation's."""
        own = self.tenants.get(tenant_id)
        if own is None:
            return self
        given = own.model_dump(exclude_unset=True)
        return Limits(**{name: given.get(name, getattr(self, name)) for name in Limits.model_fields})


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """The retention rules of one tenant."""

    profiles: Mapping[str, Profile]
    limits: Limits

    def days(self, kind: Kind, profile_id: str | None) -> int | None:
        """Return the days that an item of a profile is kept; None: without limit.

        The longest of all rules applies to an item that names no profile of the catalog, because any may rely on it.
        """
        profile = None if profile_id is None else self.profiles.get(profile_id)
        if profile is not None:
            return self._within(kind, getattr(profile.retention_rules, f"{kind}_days"))
        found = [self.days(kind, known) for known in self.profiles] or [self._within(kind, None)]
        return None if None in found else max(days for days in found if days is not None)

    def last_due(self, kind: Kind, profile_id: str | None, as_of: datetime) -> str:
        """Return the time up to which items have expired at `as_of`, as text; empty if none has."""
        days = self.days(kind, profile_id)
        try:
            return "" if days is None else to_text(as_of - timedelta(days=days))
        except OverflowError:
            return ""

    def may_have_expired(self, started: str, as_of: datetime) -> bool:
        """Return whether a segment of the audit log that started then may go at `as_of`, going by its start alone.

        Its month (UTC) must have ended, and its first record must have expired by the shortest rule.
        """
        try:
            month = to_text(as_of - SKEW)[:_MONTH]
        except OverflowError:
            return False
        latest = max(self.last_due(Kind.AUDIT, one, as_of) for one in (None, *self.profiles))
        return started[:_MONTH] < month and started <= latest

    def may_expire_at(self, started: str) -> datetime | None:
        """Return the first moment at which `may_have_expired` holds for a segment that started then; None: never."""
        days = [days for one in (None, *self.profiles) if (days := self.days(Kind.AUDIT, one)) is not None]
        if not days:
            return None
        at = from_text(started)
        following = (at.replace(day=1) + timedelta(days=32)).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        try:
            return max(at + timedelta(days=min(days)), following + SKEW)
        except OverflowError:
            return None

    def expires_at(self, kind: Kind, profile_id: str | None, at: str) -> datetime | None:
        """Return when an item of this time expires; None: never."""
        days = self.days(kind, profile_id)
        try:
            return None if days is None else from_text(at) + timedelta(days=days)
        except (OverflowError, MalformedRequest):
            return None

    def _within(self, kind: Kind, rule: int | None) -> int | None:
        least, most = self.limits.least(kind), self.limits.most(kind)
        days = most if rule is None or (most is not None and rule > most) else rule
        return days if days is None or least is None else max(days, least)


def has_expired(record: Record, profile_id: str | None, policy: RetentionPolicy, as_of: datetime) -> bool:
    """Return whether an audit record has expired; `profile_id` is the profile whose rule applies to it (`ruled_by`)."""
    timestamp: str = record["timestamp"]
    return timestamp <= policy.last_due(Kind.AUDIT, profile_id, as_of)


def ruled_by(record: Record, before: str | None) -> str | None:
    """Return the profile whose rule applies to a record; `before` is that of the previous change."""
    named: str | None = record["profile_id"]
    return before if named is None else named


@dataclass(slots=True)
class Tally:
    """The counts of a run for one kind of item."""

    removed: int = 0
    """In a dry run: what would be removed."""
    on_hold: int = 0
    blocked: int = 0
    """Expired, but still needed: a snapshot by its replay, a replay by its snapshot, a conflict while it is open or by
    its replay."""
    deferred: int = 0
    """Expired, but changed meanwhile, or the store failed; the next run retries it."""
    retained: int = 0

    def add(self, other: "Tally") -> None:
        """Add the counts of another run."""
        for name, count in other.members().items():
            setattr(self, name, getattr(self, name) + count)

    def members(self) -> dict[str, int]:
        """Return the counts by name."""
        return asdict(self)


COUNTED = (
    "snapshots",
    "replays",
    "conflicts",
    "accesses",
    "events",
    "audit",
    "imports",
    "usage",
    "retractions",
    "withdrawn",
)


@dataclass(slots=True)
class RetentionReport:
    """The counts of a run by kind."""

    tallies: dict[str, Tally] = field(default_factory=lambda: {name: Tally() for name in COUNTED})
    baselines: int = 0
    """Documents whose histories this run has shortened: each begins with a baseline."""
    unreadable: Counter[str] = field(default_factory=Counter)
    """Items by kind that cannot be read or are corrupt; they are left unchanged."""
    next_due: datetime | None = None
    """When the first of the retained items expires, as far as the run has seen them; not among `members`."""

    def expires(self, at: datetime | None) -> None:
        """Note when a retained item expires; None: never."""
        if at is not None:
            self.next_due = at if self.next_due is None else min(at, self.next_due)

    def add(self, other: "RetentionReport") -> None:
        """Add the counts of another run."""
        for name, tally in other.tallies.items():
            self.tallies[name].add(tally)
        self.baselines += other.baselines
        self.unreadable.update(other.unreadable)
        self.expires(other.next_due)

    @property
    def unfinished(self) -> bool:
        """Whether an item needs a later run or an operator."""
        return bool(self.unreadable.total()) or any(tally.deferred for tally in self.tallies.values())

    @property
    def waiting(self) -> bool:
        """Whether something expired is still there: a later run tries again."""
        return self.unfinished or any(tally.on_hold or tally.blocked for tally in self.tallies.values())

    def members(self) -> dict[str, Any]:
        """The members that the API returns."""
        return {
            "counts": {name: tally.members() for name, tally in self.tallies.items()},
            "baselines": self.baselines,
            "unreadable": self.unreadable.total(),
        }


def batches(items: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    """Yield the items in batches of `size`, in order."""
    return (items[start : start + size] for start in range(0, len(items), size))
