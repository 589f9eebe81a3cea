"""The marks that drive upkeep: which users have changed, from which day on a user is due, and the shards of both.

A changed mark names a user and the hour of a write; it exists before the write does. A due mark names a user and the
day from which retention and freshness have something to do. Marks are empty and only ever created and deleted, so a
crash leaves at most a mark too many, which costs one look at the user.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import InvalidIdentifier, MalformedRequest
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import UserScope

SHARD_COUNT = 64
SHARDS = tuple(f"{number:02x}" for number in range(SHARD_COUNT))
CHANGED, DUE = "changed/", "due/"
SETTLE = timedelta(minutes=15)
"""How long after its hour a changed mark may still announce a write: Azure Storage refuses a request 15 minutes after
its date ("Authorize with Shared Key", the Date header), and a write is dated in the hour of its mark.
"""
_HOUR, _DAY = "%Y%m%dT%H", "%Y%m%d"
_RULES = {"retention_rules", "document_bindings", "pending_sections", "compaction_rules"}
_RULES |= {"upkeep_rules", "upkeep_fill", "ttl_classes"}


class Work(StrEnum):
    """The work that is divided into shards."""

    CHANGED = "changed"
    """Tend the users with changed marks: copy records, sign a checkpoint, compact."""
    DUE = "due"
    """Apply retention and freshness to the users with due marks."""
    ALL = "all"
    """Create a due mark for every user, because the rules have changed."""


def shard_of(scope: UserScope) -> str:
    """Return the shard of a user, two hexadecimal digits. It never changes."""
    return SHARDS[int(sha256_hex(f"{scope.tenant_id}/{scope.user_id}".encode())[:8], 16) % SHARD_COUNT]


@dataclass(frozen=True, slots=True)
class ChangedMark:
    """A user who was written for in an hour, such as "20260214T20" (UTC)."""

    scope: UserScope
    hour: str

    @property
    def blob_name(self) -> str:
        """The name of its blob."""
        return f"{changed_of(self.scope)}{self.hour}"

    @property
    def began(self) -> datetime:
        """When its hour began."""
        return datetime.strptime(self.hour, _HOUR).replace(tzinfo=UTC)

    def is_ready(self, now: datetime) -> bool:
        """Return whether every write that it announces has arrived or was refused."""
        return self.began + timedelta(hours=1) + SETTLE <= now


@dataclass(frozen=True, slots=True)
class DueMark:
    """A user, and the day (UTC), such as "20260214", from which on retention and freshness look at the user."""

    scope: UserScope
    day: str

    @property
    def blob_name(self) -> str:
        """The name of its blob."""
        return f"{due_of(self.scope, self.day)}{self.scope.user_id}"


def changed_mark(scope: UserScope, now: datetime) -> ChangedMark:
    """Return the mark that a write at this moment needs."""
    return ChangedMark(scope, now.astimezone(UTC).strftime(_HOUR))


def due_mark(scope: UserScope, day: datetime) -> DueMark:
    """Return the mark of a user for the day of this moment."""
    return DueMark(scope, day_of(day))


def day_of(moment: datetime) -> str:
    """Return the day of a moment in UTC, as due marks name it."""
    return moment.astimezone(UTC).strftime(_DAY)


def day_after(moment: datetime) -> datetime:
    """Return a moment of the first day on which everything that expires at this moment has expired."""
    return min(moment, datetime.max.replace(tzinfo=UTC) - timedelta(days=1)) + timedelta(days=1)


def overdue_seconds(day: str, now: datetime) -> float:
    """Return how long ago a day of due marks ended; 0 until then. Raises ValueError: it is no day."""
    ended = datetime.strptime(day, _DAY).replace(tzinfo=UTC) + timedelta(days=1)
    return max(0.0, (now - ended).total_seconds())


def changed_of(scope: UserScope) -> str:
    """Return the prefix of a user's changed marks."""
    return f"{CHANGED}{shard_of(scope)}/{scope.tenant_id}/{scope.user_id}/"


def due_of(scope: UserScope, day: str) -> str:
    """Return the prefix of the due marks of the user's shard and tenant for a day."""
    return f"{DUE}{day}/{shard_of(scope)}/{scope.tenant_id}/"


def read_changed(name: str) -> ChangedMark | None:
    """Return the changed mark with this blob name, or None if it is no name of one."""
    match name.split("/"):
        case ["changed", _, tenant_id, user_id, hour] if _is_form(hour, _HOUR):
            scope = _scope(tenant_id, user_id)
            mark = None if scope is None else ChangedMark(scope, hour)
            return mark if mark is not None and mark.blob_name == name else None
    return None


def read_due(name: str) -> DueMark | None:
    """Return the due mark with this blob name, or None if it is no name of one."""
    match name.split("/"):
        case ["due", day, _, tenant_id, user_id] if is_day(day):
            scope = _scope(tenant_id, user_id)
            mark = None if scope is None else DueMark(scope, day)
            return mark if mark is not None and mark.blob_name == name else None
    return None


def is_day(text: str) -> bool:
    """Return whether a folder of due marks can have this name."""
    return _is_form(text, _DAY)


def _is_form(text: str, form: str) -> bool:
    try:
        return datetime.strptime(text, form).strftime(form) == text
    except ValueError:
        return False


def _scope(tenant_id: str, user_id: str) -> UserScope | None:
    try:
        return UserScope(tenant_id, user_id)
    except InvalidIdentifier:
        return None


def job_of(work: Work, shard: str) -> Job:
    """Return the job of a shard."""
    return Job(JobKind.UPKEEP, None, None, f"{work}-{shard}")


def work_of(job: Job) -> tuple[Work, str]:
    """Return the work and the shard of a job. Raises MalformedRequest."""
    work, _, shard = job.job_id.partition("-")
    if job.kind is not JobKind.UPKEEP or work not in set(Work) or shard not in SHARDS:
        raise MalformedRequest("The job names no shard.")
    return Work(work), shard


def rules_hash(catalog: Catalog) -> str:
    """Return the hash of every rule by which something expires, becomes stale or is compacted."""
    profiles = {name: profile.model_dump(mode="json", include=_RULES) for name, profile in catalog.profiles.items()}
    return sha256_hex(canonical([profiles, catalog.ceilings.model_dump(mode="json")]))
