"""Responses about users, the catalog, the reindexing, the statistics and the health checks."""

from typing import Literal

from pydantic import BaseModel, Field, create_model

from api.responses.fields import Count, Number, Object, Omitted, OptionalTime, Page, Time
from memnet.domain.core.job import MARKED
from memnet.domain.governance.waiting import WaitingKind


class UserRow(BaseModel):
    """A user of a tenant."""

    user_id: str


class UserPage(Page):
    """A page of users."""

    users: list[UserRow]


class WaitingRow(BaseModel):
    """What waits for a person, of one kind and one user."""

    kind: WaitingKind = Field(
        description="pending: items to confirm. question: those of them that the tenant decides. conflict: open "
        "conflicts. failed_replay: replays that were given up. "
        "erasure: an erasure that runs, or that a legal hold has prevented. dead_letter: a job whose record cannot be "
        "read."
    )
    user_id: str
    since: OptionalTime = Field(description="Since when the oldest waits; null: it cannot be read.")
    count: Count
    complete: bool = Field(description="false: the user has more than was counted.")
    status: Omitted[Literal["running", "partial"]] = Field(
        None, description="Only of an erasure. partial: a legal hold has prevented it; request it again."
    )


class WaitingPage(Page):
    """A page of what waits."""

    waiting: list[WaitingRow]


class BindingRow(BaseModel):
    """A binding of a profile."""

    binding_id: str
    namespace: str
    path: str | None = None
    path_template: str | None = Field(None, description="Either this or path is null.")
    schema_id: str
    schema_version: str
    max_chars: int = Field(description="The document's size limit.")
    read_priority: Omitted[int] = None
    write_mode: Omitted[str] = None


class ProfileRow(BaseModel):
    """A profile in a list."""

    profile_id: str
    version: str
    extends: str | None = Field(None, description="The profile that this one extends.")
    etag: str
    document_bindings: list[BindingRow]


class ProfilePage(Page):
    """A page of profiles."""

    profiles: list[ProfileRow]


class ProfileBody(BaseModel):
    """A profile as in its file, with defaults filled in; docs/profiles.md explains every member."""

    profile_id: str
    version: str
    extends: str | None = Field(None, description="The base, with which the profile is joined already.")
    document_bindings: list[Object]


class ProfileView(BaseModel):
    """A profile and its ETag."""

    etag: str
    profile: ProfileBody


class SchemaView(BaseModel):
    """A version of a schema and its ETag."""

    etag: str
    schema_id: str
    schema_version: str
    schema_: Object = Field(alias="schema", description="JSON Schema, Draft 2020-12.")


class ReindexingStatus(BaseModel):
    """The progress of a reindexing."""

    reindex_id: str
    status: Literal["running", "stalled", "succeeded"] = Field(
        description="stalled: no progress for a minute; a new request resumes it."
    )
    events: Count = Field(description="Stored events read so far.")
    snapshots: Count = Field(description="Stored snapshots with searchable turns read so far.")
    waiting: Count = Field(description="Of both, those that the index has not accepted yet; they are retried.")
    removed: Count = Field(description="Index documents removed because their event or snapshot does not exist.")
    started_at: Time
    updated_at: Time


class _Percentiles(BaseModel):
    p50_ms: Number | None = Field(description="At most 10 % too high; null: no requests.")
    p95_ms: Number | None
    p99_ms: Number | None


class OperationStatistics(_Percentiles):
    """Requests of one operation."""

    operation: str = Field(description="An operationId; `other` for everything else.")
    requests: Count
    longest_ms: Number
    statuses: dict[str, Count] = Field(description="By status; `abandoned`: the client left before the response.")


class MinuteStatistics(_Percentiles):
    """Requests of one minute."""

    minute: Time = Field(description="Its start; the last minute is still running.")
    requests: Count = Field(description="Requests of operations; others are not counted.")
    writes: Count = Field(description="PATCH, PUT and DELETE of documents.")
    stale_writes: Count = Field(description="Writes answered with 412.")
    failures: Count = Field(description="Responses with a 5xx status.")


class RequestStatistics(BaseModel):
    """Requests of this process."""

    since: Time = Field(description="Not before the start of this process.")
    until: Time
    operations: list[OperationStatistics]
    by_minute: list[MinuteStatistics] = Field(description="Oldest minute first.")


class Waiting(BaseModel):
    """Unfinished work of one kind."""

    waiting: Count
    oldest_at: OptionalTime
    oldest_age_seconds: Number


JobsWaiting = create_model("JobsWaiting", **{kind.value: (Waiting, ...) for kind in MARKED})  # type: ignore[call-overload]


class Backlog(BaseModel):
    """Unfinished work of the whole service, read from the storage."""

    jobs: JobsWaiting  # type: ignore[valid-type]
    events_to_index: Waiting = Field(description="Events that the index has not confirmed.")
    complete: bool = Field(description="false: there is more than was counted.")


class ServiceStatistics(BaseModel):
    """Latency, statuses and unfinished work."""

    scope: Literal["process"] = Field(description="`requests` covers this process only.")
    requests: RequestStatistics
    backlog: Backlog


class MeView(BaseModel):
    """The signed-in user of a token."""

    tenant_id: str
    user_id: str
    roles: list[str] = Field(description="The roles that the token's scopes grant, for this user's memory alone.")
    profiles: list[str] = Field(description="The ids of the profiles that the user may use.")
    may_export: bool = Field(description="Whether this token may export the user's memory.")
    may_erase: bool = Field(description="Whether this token may request the erasure of the user's memory.")


class HealthStatus(BaseModel):
    """The status of the process."""

    status: str
    checks: Omitted[dict[str, str]] = None
