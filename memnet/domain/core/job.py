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
"""The kinds of jobs that are about one user; every other is about a whole tenant."""

DEAD_LETTERS = "memnet-dead-letters"
"""The queue for messages that can never be processed, with the reason. Operators remove them, and an erasure removes
those of its user.
"""

MAX_ID = 128
"""The longest message id and session id."""

ATTEMPT = "attempt"
"""The application property of a message that says which attempt at its job it is for, a number from 0."""

TRACEPARENT = "traceparent"
"""The application property with the step that the message was sent in, as W3C Trace Context writes it."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job; `job_id` is the id of the replay, the conflict or the reindexing. Raises InvalidIdentifier.

    `user_id` is None for what concerns a whole tenant.
    """

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
        """The user it is about. Raises InvalidIdentifier for a tenant's job."""
        return UserScope(self.tenant_id, self.user_id or "")

    @property
    def session(self) -> str:
        """Jobs of one session never run at the same time, and run in the order in which they were sent."""
        return self.tenant_id if self.user_id is None else f"{self.tenant_id}/{self.user_id}"


def message_id(job: Job, attempt: int) -> str:
    """Name one sending of a job: what is sent again under this name within minutes, is dropped.

    The tenant and the user are part of it: another user's job may have the same id.
    """
    return _shortened(f"{job.kind}:{job.session}:{job.job_id}:{attempt}")


def session_id(job: Job) -> str:
    """The job's session as a queue takes it."""
    return _shortened(job.session)


def session_of(tenant_id: str, user_id: str | None) -> str:
    """The session of all jobs of one user, or of the tenant's own, as a queue takes it."""
    return _shortened(tenant_id if user_id is None else f"{tenant_id}/{user_id}")


def kinds_of(user_id: str | None) -> Sequence[JobKind]:
    """The kinds of jobs of one user, or of a tenant."""
    return [kind for kind in JobKind if (kind in OF_USERS) == (user_id is not None)]


def _shortened(text: str) -> str:
    """Azure Service Bus takes ids of up to 128 characters."""
    return text if len(text) <= MAX_ID else hashlib.sha256(text.encode()).hexdigest()


def dump(job: Job) -> bytes:
    """The message's body."""
    return canonical({"kind": job.kind, "tenant_id": job.tenant_id, "user_id": job.user_id, "job_id": job.job_id})


def load(data: bytes) -> Job:
    """Read a message's body. Raises MalformedRequest: retrying does not help."""
    try:
        members: Json = orjson.loads(data)
        return Job(JobKind(members["kind"]), members["tenant_id"], members["user_id"], members["job_id"])
    except (ValueError, KeyError, TypeError, InvalidIdentifier) as error:
        raise MalformedRequest("The message is not a job.") from error
