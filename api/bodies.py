"""The request bodies, as models: strict types, and no member that is not listed."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from api.query import CURSOR_PATTERN, MAX_CURSOR
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.evidence import BoundedEvidence
from memnet.domain.core.integers import Integer
from memnet.domain.core.scope import UserScope
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.events.event import Event, Time, Word
from memnet.domain.events.event_search import EventQuery
from memnet.domain.governance.legal_hold import MAX_REASON
from memnet.domain.replay.snapshot import Conversation

MAX_NOTE = 256
MAX_QUERY = 1000
MAX_OPS = 1000
"""Operations of a patch; a profile may allow fewer."""
MAX_OP_MEMBERS = 16
"""RFC 6902 defines four, and has others ignored."""
MAX_HINTS = 32

Name = Annotated[str, Field(min_length=1, max_length=128)]


class Body(BaseModel):
    """Strict: "1" is not 1, and an unknown member is an error rather than silently without effect."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class EvidentBody(Body):
    """A body that may bring evidence of bounded size."""

    evidence: BoundedEvidence | None = None

    def evidence_members(self) -> dict[str, Any] | None:
        """The evidence as it was sent, or None."""
        return None if self.evidence is None else self.evidence.members()


class PatchBody(EvidentBody):
    """JSON Patch operations under a profile's binding."""

    profile_id: Name
    binding_id: Name
    ops: Annotated[list[Annotated[dict[str, Any], Field(max_length=MAX_OP_MEMBERS)]], Field(max_length=MAX_OPS)]
    reason: Literal["live_update", "replay_update", "admin_migration"]
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    source_time: Annotated[str, Field(max_length=64, json_schema_extra={"format": "date-time"})] | None = None

    @field_validator("source_time")
    @classmethod
    def _is_time(cls, source_time: str | None) -> str | None:
        try:
            return source_time and to_text(from_text(source_time))
        except MalformedRequest as error:
            raise ValueError("must be an RFC 3339 date-time such as 2026-02-14T20:00:00Z") from error


class ConfirmBody(EvidentBody):
    """The document of a pending item, how sure the confirmation is, and by what."""

    namespace: Name
    path: Annotated[str, Field(min_length=1, max_length=1024)]
    confidence: Annotated[float, Field(ge=0, le=1)]
    value: Annotated[Any, Field(description="To write instead of the proposed value.")] = None


class RejectBody(Body):
    """The document of a pending item, and why it is rejected."""

    namespace: Name
    path: Annotated[str, Field(min_length=1, max_length=1024)]
    note: Annotated[str, Field(max_length=MAX_NOTE)] | None = None


class NewDocument(Body):
    """What a client may say of a whole document; the service owns the rest of the envelope."""

    schema_id: Name
    schema_version: Name
    content: Any


class ReplaceBody(EvidentBody):
    """A whole document under a profile's binding."""

    profile_id: Name
    binding_id: Name
    document: NewDocument
    reason: Annotated[str, Field(max_length=MAX_NOTE)] | None = None


class IncludeEventsBody(Body):
    """How many events, and how many characters of them, go into the context."""

    top_k: Annotated[Integer, Field(ge=1, le=50)]
    max_chars: Annotated[Integer, Field(ge=1)] | None = None


class AssembleBody(Body):
    """What an orchestrator knows when a conversation starts.

    `conversation_hint` holds `text` and ids it already knows, by the profile's variable, such as `project_id`.
    """

    profile_id: Name
    conversation_hint: Annotated[dict[str, str | None], Field(max_length=MAX_HINTS)] = {}
    max_docs: Annotated[Integer, Field(ge=1)] | None = None
    max_chars_total: Annotated[Integer, Field(ge=1)] | None = None
    routing_debug: bool = False
    include_events: IncludeEventsBody | None = None

    def text(self) -> str:
        """The conversation's text; empty if there is none."""
        return self.conversation_hint.get("text") or ""

    def explicit_ids(self) -> dict[str, str]:
        """The ids that were given."""
        hint = self.conversation_hint.items()
        return {name: value for name, value in hint if name != "text" and value is not None}


class RetentionBody(Body):
    """When, and whether for real; the body may be left out."""

    as_of: Annotated[Time | None, Field(description="As if it were then; a time to come takes dry_run.")] = None
    dry_run: Annotated[bool, Field(description="Count what would be removed, and remove nothing.")] = False


class HoldBody(Body):
    """Why something is put under a legal hold."""

    reason: Annotated[str, Field(min_length=1, max_length=MAX_REASON)]


EventBody = Event
"""The event itself; `tenant_id` and `user_id`, where they are given, are those of the path."""

SnapshotBody = Conversation
"""The conversation itself; whose it is, the path says."""


class SearchBody(Body):
    """What to look for among a user's events. Without a query: everything, newest first."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, populate_by_name=False)

    query: Annotated[str, Field(max_length=MAX_QUERY)] | None = None
    top_k: Annotated[Integer, Field(ge=1, le=100)] = 10
    since: Annotated[Time | None, Field(alias="from", description="Not before this time.")] = None
    until: Annotated[Time | None, Field(alias="to", description="Before this time.")] = None
    service_id: Word | None = None
    project_id: Word | None = None
    source_type: Word | None = None
    entity: Annotated[Word | None, Field(description="One of the event's entities, exactly as written.")] = None
    cursor: (
        Annotated[str, Field(min_length=1, max_length=MAX_CURSOR, json_schema_extra={"pattern": CURSOR_PATTERN})] | None
    ) = None

    def event_query(self, scope: UserScope) -> EventQuery:
        """The query, confined to `scope`."""
        return EventQuery(
            scope=scope,
            text=self.query or None,
            top=self.top_k,
            since=None if self.since is None else from_text(self.since),
            until=None if self.until is None else from_text(self.until),
            service=self.service_id,
            project=self.project_id,
            source_type=self.source_type,
            entity=self.entity,
        )
