"""How long what is kept of a user is kept: profile rules between an organisation's floors and ceilings.

Days are counted from when something was recorded. An item that is exactly as old as its rule allows has expired.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from pydantic import Field

from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.rules import Days, Identifier, ProfilePart
from memnet.domain.core.json_types import Record
from memnet.domain.core.timestamps import to_text


class Kind(StrEnum):
    """What has a rule of its own; the beginning of the names of its limits."""

    SNAPSHOTS = "snapshots"
    EVENTS = "events"
    AUDIT = "audit"
    JOBS = "jobs"
    """Replays, conflicts, and the records of who read a snapshot or imported an archive."""


class Limits(ProfilePart):
    """The fewest and the most days that something is kept; None: no limit."""

    snapshots_min_days: Days | None = None
    snapshots_max_days: Days | None = None
    events_min_days: Days | None = None
    events_max_days: Days | None = None
    audit_min_days: Days | None = None
    audit_max_days: Days | None = None
    jobs_min_days: Days | None = None
    jobs_max_days: Days | None = None

    def least(self, kind: Kind) -> int | None:
        """The floor."""
        found: int | None = getattr(self, f"{kind}_min_days")
        return found

    def most(self, kind: Kind) -> int | None:
        """The ceiling."""
        found: int | None = getattr(self, f"{kind}_max_days")
        return found


class Ceilings(Limits):
    """The organisation's limits, and those of single tenants, which take the place of the organisation's."""

    tenants: dict[Identifier, Limits] = Field(default_factory=dict)

    def of(self, tenant_id: str) -> Limits:
        """The limits that hold for a tenant: each of its own, else the organisation's."""
        own = self.tenants.get(tenant_id)
        if own is None:
            return self
        given = own.model_dump(exclude_unset=True)
        return Limits(**{name: given.get(name, getattr(self, name)) for name in Limits.model_fields})


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """The rules for one tenant."""

    profiles: Mapping[str, Profile]
    limits: Limits

    def days(self, kind: Kind, profile_id: str | None) -> int | None:
        """How many days something written under that profile is kept; None: for good.

        What names no profile of the catalog goes by the longest of all rules: nobody's rule may cut short what others
        rely on.
        """
        profile = None if profile_id is None else self.profiles.get(profile_id)
        if profile is not None:
            return self._within(kind, getattr(profile.retention_rules, f"{kind}_days"))
        found = [self.days(kind, known) for known in self.profiles] or [self._within(kind, None)]
        return None if None in found else max(days for days in found if days is not None)

    def last_due(self, kind: Kind, profile_id: str | None, as_of: datetime) -> str:
        """The time up to which what was recorded is over at `as_of`, as text; empty: nothing is."""
        days = self.days(kind, profile_id)
        try:
            return "" if days is None else to_text(as_of - timedelta(days=days))
        except OverflowError:
            return ""

    def _within(self, kind: Kind, rule: int | None) -> int | None:
        """A rule between the limits. Without a rule the ceiling is it."""
        least, most = self.limits.least(kind), self.limits.most(kind)
        days = most if rule is None or (most is not None and rule > most) else rule
        return days if days is None or least is None else max(days, least)


def count_expired(records: Iterable[Record], profile_id: str | None, policy: RetentionPolicy, as_of: datetime) -> int:
    """How many of a document's records, from its oldest on, are over.

    They are one chain, so one that has to stay keeps all after it. A deletion names no profile and goes by the rule
    of the change before it; `profile_id` is that of the change before the first of `records`.
    """
    due = 0
    for record in records:
        profile_id = ruled_by(record, profile_id)
        if record["timestamp"] > policy.last_due(Kind.AUDIT, profile_id, as_of):
            break
        due += 1
    return due


def ruled_by(record: Record, before: str | None) -> str | None:
    """The profile whose rule a record goes by; `before` is that of the change before it."""
    named: str | None = record["profile_id"]
    return before if named is None else named


@dataclass(slots=True)
class Tally:
    """What a run did with one kind of thing."""

    removed: int = 0
    """In a dry run: what would be removed."""
    on_hold: int = 0
    """Expired, but under a legal hold."""
    blocked: int = 0
    """Expired, but still needed: a snapshot by its replay, a replay by its snapshot, a conflict by its replay or, while
    it is open, by the decision on it."""
    deferred: int = 0
    """Expired, but changed meanwhile, or the store failed; the next run retries it."""
    retained: int = 0
    """Not expired."""

    def add(self, other: "Tally") -> None:
        """Count what another run did, too."""
        self.removed += other.removed
        self.on_hold += other.on_hold
        self.blocked += other.blocked
        self.deferred += other.deferred
        self.retained += other.retained

    def members(self) -> dict[str, int]:
        """By name."""
        return {
            "removed": self.removed,
            "on_hold": self.on_hold,
            "blocked": self.blocked,
            "deferred": self.deferred,
            "retained": self.retained,
        }


COUNTED = ("snapshots", "replays", "conflicts", "accesses", "events", "audit", "imports")


@dataclass(slots=True)
class RetentionReport:
    """What a run did, kind by kind."""

    tallies: dict[str, Tally] = field(default_factory=lambda: {name: Tally() for name in COUNTED})
    baselines: int = 0
    """Documents whose history now begins with a baseline of this run."""
    unreadable: Counter[str] = field(default_factory=Counter)
    """Items by kind that cannot be read or are corrupt; they are left unchanged."""

    def add(self, other: "RetentionReport") -> None:
        """Count what another run did, too."""
        for name, tally in other.tallies.items():
            self.tallies[name].add(tally)
        self.baselines += other.baselines
        self.unreadable.update(other.unreadable)

    @property
    def unfinished(self) -> bool:
        """Whether a later run or an operator has to look at an item again."""
        return bool(self.unreadable.total()) or any(tally.deferred for tally in self.tallies.values())

    def members(self) -> dict[str, Any]:
        """The members that the API returns."""
        return {
            "counts": {name: tally.members() for name, tally in self.tallies.items()},
            "baselines": self.baselines,
            "unreadable": self.unreadable.total(),
        }


def batches(items: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    """The items in their order, so many at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))
