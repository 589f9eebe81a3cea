"""The request bodies as models: strict types, no unknown members."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from api.query import CURSOR_PATTERN, MAX_CURSOR
from memnet.domain.context.prompt import MIN_TOKENS, Format
from memnet.domain.core.claimant import Claimant
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.evidence import POINTERS, STATED_BY, BoundedEvidence, Evidence, names_source
from memnet.domain.core.json_types import Integer
from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.documents.commands import Take
from memnet.domain.documents.statement_question import MAX_CHOICES
from memnet.domain.events.event import Event, Time, Word
from memnet.domain.events.event_search import EventQuery
from memnet.domain.events.turn_search import TurnQuery
from memnet.domain.governance.legal_hold import MAX_REASON
from memnet.domain.recall.recalled import RecallRequest
from memnet.domain.replay.snapshot import Conversation
from memnet.domain.replay.turn import Turns

MAX_NOTE = 256
MAX_QUERY = 1000
MAX_OPS = 1000
"""Operations of a patch; a profile may allow fewer."""
MAX_OP_MEMBERS = 16
"""RFC 6902 defines four and ignores others."""
MAX_HINTS = 32

Name = Annotated[str, Field(min_length=1, max_length=128)]


class Body(BaseModel):
    """Strict: "1" is not 1, and an unknown member is an error."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class EvidentBody(Body):
    """A body with evidence of bounded size."""

    evidence: BoundedEvidence | None = None

    @field_validator("evidence")
    @classmethod
    def _names_source(cls, evidence: Evidence | None) -> Evidence | None:
        members = {} if evidence is None else evidence.members()
        if evidence is not None and not (names_source(members) or members.get(STATED_BY)):
            raise ValueError(f"names no source: it needs at least one of {', '.join(POINTERS)}")
        return evidence

    def evidence_members(self) -> dict[str, Any] | None:
        """Return the evidence unchanged, or None."""
        return None if self.evidence is None else self.evidence.members()


class BindingBody(EvidentBody):
    """A write under a profile's binding."""

    profile_id: Name
    binding_id: Name


class PatchBody(BindingBody):
    """JSON Patch operations under a profile's binding."""

    ops: Annotated[list[Annotated[dict[str, Any], Field(max_length=MAX_OP_MEMBERS)]], Field(max_length=MAX_OPS)]
    reason: Literal["live_update", "replay_update", "admin_migration"]
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    source_time: Annotated[str, Field(max_length=64, json_schema_extra={"format": "date-time"})] | None = None
    claimant: Annotated[
        Claimant | None, Field(description="Who states it, in a workspace: the service writes a code of this user.")
    ] = None

    @field_validator("source_time")
    @classmethod
    def _is_time(cls, source_time: str | None) -> str | None:
        try:
            return source_time and to_text(from_text(source_time))
        except MalformedRequest as error:
            raise ValueError("must be an RFC 3339 date-time such as 2026-02-14T20:00:00Z") from error


class ConfirmBody(EvidentBody):
    """The document of a pending item, and the confidence and evidence of the confirmation."""

    namespace: Name
    path: Annotated[str, Field(min_length=1, max_length=1024)]
    confidence: Annotated[float, Field(ge=0, le=1)]
    value: Annotated[Any, Field(description="Written instead of the proposed value.")] = None
    take: Annotated[
        Take, Field(description="Of an item that contradicts an entry: which is right, the entry that exists, or both.")
    ] = "proposed"
    choice: Annotated[
        Integer | None,
        Field(ge=1, le=MAX_CHOICES - 1, description="The index of the proposal in choices; default 1."),
    ] = None
    apart: Annotated[
        str | None,
        Field(
            min_length=1, max_length=300, description="With both: what sets the proposed entry apart; else its value."
        ),
    ] = None


class DiscardBody(Body):
    """Why a conflict is discarded. The body may be omitted."""

    note: Annotated[str, Field(max_length=MAX_NOTE)] | None = None


class RejectBody(Body):
    """The document of a pending item, and why it is rejected."""

    namespace: Name
    path: Annotated[str, Field(min_length=1, max_length=1024)]
    note: Annotated[str, Field(max_length=MAX_NOTE)] | None = None


class NewDocument(Body):
    """The part of a document that a client sets; the service owns the rest of the envelope."""

    schema_id: Name
    schema_version: Name
    content: Any


class ReplaceBody(BindingBody):
    """A whole document under a profile's binding."""

    document: NewDocument
    reason: Annotated[str, Field(max_length=MAX_NOTE)] | None = None


class IncludeEventsBody(Body):
    """The maximum number of events in the context, and of their characters."""

    top_k: Annotated[Integer, Field(ge=1, le=50)]
    max_chars: Annotated[Integer, Field(ge=1)] | None = None


class RenderBody(Body):
    """The format of the prompt, and how large it may be."""

    format: Format
    max_tokens: Annotated[
        Integer | None,
        Field(
            ge=MIN_TOKENS,
            description="The most tokens of the prompt with its markers, counted by the profile's `recall.tokens`.",
        ),
    ] = None


class AssembleBody(Body):
    """The start of a conversation, as the orchestrator knows it.

    `conversation_hint` has the `text` and known ids by the profile's variable, such as `project_id`.
    """

    profile_id: Name
    conversation_hint: Annotated[dict[str, str | None], Field(max_length=MAX_HINTS)] = {}
    max_docs: Annotated[Integer, Field(ge=1)] | None = None
    max_chars_total: Annotated[Integer, Field(ge=1)] | None = None
    routing_debug: bool = False
    include_events: IncludeEventsBody | None = None
    render: RenderBody | None = None

    def text(self) -> str:
        """Return the conversation's text; empty if there is none."""
        return self.conversation_hint.get("text") or ""

    def explicit_ids(self) -> dict[str, str]:
        """Return the given ids by their variable."""
        hint = self.conversation_hint.items()
        return {name: value for name, value in hint if name != "text" and value is not None}


class IncludeBody(Body):
    """What a recall returns besides what holds."""

    waiting: Annotated[bool, Field(description="Pending items, if the profile's show_waiting allows it.")] = False
    closed: Annotated[bool, Field(description="Closed statements, with the time until which they held.")] = False


class RecallBody(Body):
    """A question in the middle of a conversation. What is not given is as the profile says."""

    profile_id: Name
    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY)]
    conversation_id: Annotated[Word | None, Field(description="The conversation in which it is asked.")] = None
    max_tokens: Annotated[
        Integer | None, Field(ge=MIN_TOKENS, description="At most as many as the profile's recall.max_tokens.")
    ] = None
    limit: Annotated[Integer | None, Field(ge=1, le=100, description="The most results.")] = None
    recency_weight: Annotated[float | None, Field(ge=0, le=1, description="For pipelines with the stage weigh.")] = None
    pipeline: Annotated[Name | None, Field(description="One of the profile's pipelines.")] = None
    format: Format | None = None
    include: IncludeBody = IncludeBody()
    as_of: Annotated[
        Time | None, Field(description="As recorded at this time. Needs the role Memory.Admin or Memory.Audit.")
    ] = None
    valid_at: Annotated[Time | None, Field(description="As it held in the world at this time.")] = None
    debug: Annotated[bool, Field(description="Return what each stage returned.")] = False

    def request(self, scope: UserScope, actor: Actor) -> RecallRequest:
        """Return the request, limited to `scope`."""
        return RecallRequest(
            scope=scope,
            actor=actor,
            profile_id=self.profile_id,
            query=self.query,
            conversation_id=self.conversation_id,
            max_tokens=self.max_tokens,
            limit=self.limit,
            recency_weight=self.recency_weight,
            pipeline=self.pipeline,
            format=self.format,
            waiting=self.include.waiting,
            closed=self.include.closed,
            as_of=None if self.as_of is None else from_text(self.as_of),
            valid_at=None if self.valid_at is None else from_text(self.valid_at),
            debug=self.debug,
        )


class RetentionBody(Body):
    """The time to apply retention for, and whether to delete. The body may be omitted."""

    as_of: Annotated[
        Time | None, Field(description="Apply retention as of this time. A future time requires dry_run.")
    ] = None
    dry_run: Annotated[bool, Field(description="Count the expired data and delete nothing.")] = False


class ConsolidateBody(Body):
    """Whether to consolidate. The body may be omitted."""

    dry_run: Annotated[bool, Field(description="Report what would change, ask no model and change nothing.")] = False


class ExportBody(Body):
    """Why a user is exported, and whether with the conversations. The body may be omitted."""

    include_conversations: Annotated[bool, Field(description="Without them the answer says how many it lacks.")] = True
    reason: (
        Annotated[str, Field(min_length=1, max_length=MAX_NOTE, description="Recorded, such as a case number.")] | None
    ) = None


class HoldBody(Body):
    """The reason of a legal hold."""

    reason: Annotated[str, Field(min_length=1, max_length=MAX_REASON)]


EventBody = Event
"""The event itself. `tenant_id` and `user_id`, if present, must match the path."""

SnapshotBody = Conversation
"""The conversation itself."""

TurnsBody = Turns
"""The turns themselves."""


CursorField = Annotated[str, Field(min_length=1, max_length=MAX_CURSOR, json_schema_extra={"pattern": CURSOR_PATTERN})]


class SearchBody(Body):
    """A search in a user's events. Without a query it lists all events, newest first."""

    query: Annotated[str, Field(max_length=MAX_QUERY)] | None = None
    top_k: Annotated[Integer, Field(ge=1, le=100)] = 10
    since: Annotated[Time | None, Field(alias="from", description="Events at or after this time.")] = None
    until: Annotated[Time | None, Field(alias="to", description="Events before this time.")] = None
    service_id: Word | None = None
    project_id: Word | None = None
    source_type: Word | None = None
    entity: Annotated[Word | None, Field(description="One of the event's entities, exactly as written.")] = None
    cursor: CursorField | None = None

    def event_query(self, scope: UserScope) -> EventQuery:
        """Return the query, limited to `scope`."""
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


class TurnSearchBody(Body):
    """A search in what a user's conversations said. Without a query it lists all messages, newest first."""

    profile_id: Name
    query: Annotated[str, Field(max_length=MAX_QUERY)] | None = None
    conversation_id: Word | None = None
    speaker: Annotated[
        Word | None, Field(description="The name of who speaks, or the role of a message without one; exactly.")
    ] = None
    since: Annotated[Time | None, Field(alias="from", description="Messages at or after this time.")] = None
    until: Annotated[Time | None, Field(alias="to", description="Messages before this time.")] = None
    top_k: Annotated[Integer, Field(ge=1, le=100)] = 10
    cursor: CursorField | None = None

    def turn_query(self, scope: UserScope, profiles: tuple[str, ...]) -> TurnQuery:
        """Return the query, limited to `scope` and to these profiles."""
        return TurnQuery(
            scope=scope,
            profiles=profiles,
            text=self.query or None,
            top=self.top_k,
            since=None if self.since is None else from_text(self.since),
            until=None if self.until is None else from_text(self.until),
            conversation_id=self.conversation_id,
            speaker=self.speaker,
        )
