"""Jobs for workers: a job names the work and holds no content."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

import orjson

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import InvalidIdentifier, MalformedRequest
from memnet.domain.core.scope import Json, UserScope, check_identifier

PENDING_MARKERS = "repairs/jobs/"
"""The prefix of pending-job markers. It is outside the users' prefixes, so that listing the markers depends on the
unfinished work and not on the number of users.
"""


class JobKind(StrEnum):
    """The kind of work."""

    REPLAY = "replay"
    CONFLICT = "conflict"
    REINDEX = "reindex"
    UPKEEP = "upkeep"
    RETRACTION = "retraction"


QUEUES: Mapping[JobKind, str] = MappingProxyType(
    {
        JobKind.REPLAY: "memnet-replay",
        JobKind.CONFLICT: "memnet-conflicts",
        JobKind.REINDEX: "memnet-reindex",
        JobKind.UPKEEP: "memnet-upkeep",
        # The sessions of this queue keep a user's replays and retractions one after the other.
        JobKind.RETRACTION: "memnet-replay",
    }
)
"""The queue of each kind."""

OF_USERS = (JobKind.REPLAY, JobKind.CONFLICT, JobKind.RETRACTION)
"""The kinds of jobs for one user."""

OF_TENANTS = (JobKind.REINDEX,)
"""The kinds of jobs for a tenant. The jobs of upkeep are for no tenant, and name only a shard."""

MARKED = OF_USERS + OF_TENANTS
"""The kinds with pending-job markers. A timer sends the jobs of upkeep again."""

DEAD_LETTERS = "memnet-dead-letters"
"""The queue of messages that cannot be processed. Operators remove them, and an erasure removes those of its user."""

MAX_ID = 128
"""The longest message id and session id."""

ATTEMPT = "attempt"
"""The application property with the attempt, a number from 0."""

TRACEPARENT = "traceparent"
"""The application property with the sender's span (W3C Trace Context)."""


@dataclass(frozen=True, slots=True)
class Job:
    """A replay, conflict, retraction, reindexing of a tenant (without a user) or shard of upkeep (without a tenant).

    Raises InvalidIdentifier.
    """

    kind: JobKind
    tenant_id: str | None
    user_id: str | None
    job_id: str

    def __post_init__(self) -> None:
        if self.tenant_id is not None or self.kind in MARKED:
            check_identifier("tenant_id", self.tenant_id or "")
        if self.user_id is not None:
            check_identifier("user_id", self.user_id)
        check_identifier("job_id", self.job_id)

    @property
    def scope(self) -> UserScope:
        """The user of the job. Raises InvalidIdentifier for a job of no user."""
        return UserScope(self.tenant_id or "", self.user_id or "")


def message_id(job: Job, attempt: int) -> str:
    """Return the id of a message, unique to tenant and user; the queue drops a second one within minutes."""
    return _shortened(f"{job.kind}:{_owner(job.tenant_id, job.user_id)}:{job.job_id}:{attempt}")


def session_id(job: Job) -> str:
    """Return the id of the job's session: its jobs run one after the other, in the order in which they were sent.

    Each shard of upkeep has a session of its own, which no tenant can have: no identifier contains a colon.
    """
    return f"{job.kind}:{job.job_id}" if job.tenant_id is None else session_of(job.tenant_id, job.user_id)


def session_of(tenant_id: str, user_id: str | None) -> str:
    """Return the id of the session of a user's jobs, or of the tenant's own jobs."""
    return _shortened(_owner(tenant_id, user_id))


def _owner(tenant_id: str | None, user_id: str | None) -> str:
    return tenant_id or "" if user_id is None else f"{tenant_id}/{user_id}"


def kinds_of(user_id: str | None) -> Sequence[JobKind]:
    """Return the kinds of jobs of a user, or of a tenant."""
    return OF_TENANTS if user_id is None else OF_USERS


def _shortened(text: str) -> str:
    """Azure Service Bus allows ids of up to 128 characters."""
    return text if len(text) <= MAX_ID else hashlib.sha256(text.encode()).hexdigest()


def dump(job: Job) -> bytes:
    """Serialize a job as the body of a message."""
    return canonical({"kind": job.kind, "tenant_id": job.tenant_id, "user_id": job.user_id, "job_id": job.job_id})


def load(data: bytes) -> Job:
    """Parse the body of a message. Raises MalformedRequest."""
    try:
        members: Json = orjson.loads(data)
        return Job(JobKind(members["kind"]), members["tenant_id"], members["user_id"], members["job_id"])
    except (ValueError, KeyError, TypeError, InvalidIdentifier) as error:
        raise MalformedRequest("The message is not a job.") from error
