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


QUEUES: Mapping[JobKind, str] = MappingProxyType(
    {JobKind.REPLAY: "memnet-replay", JobKind.CONFLICT: "memnet-conflicts", JobKind.REINDEX: "memnet-reindex"}
)
"""The queue of each kind."""

OF_USERS = (JobKind.REPLAY, JobKind.CONFLICT)
"""The kinds of jobs for one user; the others are for a tenant."""

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
    """A replay, a conflict or the reindexing of a tenant (without a user), by its id. Raises InvalidIdentifier."""

    kind: JobKind
    tenant_id: str
    user_id: str | None
    job_id: str

    def __post_init__(self) -> None:
        check_identifier("tenant_id", self.tenant_id)
        if self.user_id is not None:
            check_identifier("user_id", self.user_id)
        check_identifier("job_id", self.job_id)

    @property
    def scope(self) -> UserScope:
        """The user of the job. Raises InvalidIdentifier for a tenant's job."""
        return UserScope(self.tenant_id, self.user_id or "")


def message_id(job: Job, attempt: int) -> str:
    """Return the id of a message, unique to tenant and user; the queue drops a second one within minutes."""
    return _shortened(f"{job.kind}:{_owner(job.tenant_id, job.user_id)}:{job.job_id}:{attempt}")


def session_id(job: Job) -> str:
    """Return the id of the job's session: its jobs run one after the other, in the order in which they were sent."""
    return session_of(job.tenant_id, job.user_id)


def session_of(tenant_id: str, user_id: str | None) -> str:
    """Return the id of the session of a user's jobs, or of the tenant's own jobs."""
    return _shortened(_owner(tenant_id, user_id))


def _owner(tenant_id: str, user_id: str | None) -> str:
    return tenant_id if user_id is None else f"{tenant_id}/{user_id}"


def kinds_of(user_id: str | None) -> Sequence[JobKind]:
    """Return the kinds of jobs of a user, or of a tenant."""
    return [kind for kind in JobKind if (kind in OF_USERS) == (user_id is not None)]


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
