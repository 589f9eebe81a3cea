"""An event: a short, searchable digest of something that happened, with pointers to its evidence.

Its blob is authoritative; the document in the search index is derived from it and can be rebuilt at any time.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import InvalidIdentifier, MalformedRequest
from memnet.domain.core.evidence import BoundedEvidence, EvidenceMembers
from memnet.domain.core.scope import SEGMENT, UserScope, check_identifier
from memnet.domain.core.timestamps import from_text, to_text

PENDING_MARKERS = "repairs/events/"
"""Where the events that wait for the index are marked: outside of the users' prefixes, so that listing the marks is
as long as the repairs that are due and not as long as the memory there is.
"""
MAX_DIGEST = 8192
MAX_WORDS = 64
"""The most keywords, the most entities and the most projects of one event."""

Word = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]*$")]
"""A value that is filtered by; any characters but control characters."""


def _time(text: str) -> str:
    try:
        return to_text(from_text(text))
    except MalformedRequest as error:
        raise ValueError("must be an RFC 3339 date-time such as 2026-02-14T20:00:00Z") from error


Time = Annotated[str, Field(max_length=64, json_schema_extra={"format": "date-time"}), AfterValidator(_time)]
"""A point in time, written as `domain.timestamps` does."""


@dataclass(frozen=True, slots=True)
class EventKey:
    """One event of one user. Raises InvalidIdentifier."""

    scope: UserScope
    event_id: str

    def __post_init__(self) -> None:
        check_identifier("event_id", self.event_id)

    @property
    def blob_name(self) -> str:
        """The name of the event's blob."""
        return f"{self.scope.prefix}events/{self.event_id}.json"

    @property
    def index_key(self) -> str:
        """The key of the event's document in the index; the parts hold no slash, so no two events share one."""
        return sha256(f"{self.scope.tenant_id}/{self.scope.user_id}/{self.event_id}".encode()).hexdigest()


class Event(BaseModel):
    """An event as a client writes it. The route names tenant and user; the body may only repeat them."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    event_id: Annotated[str, Field(pattern=f"^{SEGMENT.pattern}$")]
    tenant_id: str | None = None
    user_id: str | None = None
    service_id: Word
    timestamp: Time
    source_type: Word
    digest: Annotated[str, Field(min_length=1, max_length=MAX_DIGEST)]
    keywords: Annotated[list[Word], Field(max_length=MAX_WORDS)] = []
    entities: Annotated[list[Word], Field(max_length=MAX_WORDS)] = []
    """Names of people, organisations, places and things that the event is about."""
    project_ids: Annotated[list[Word], Field(max_length=MAX_WORDS)] = []
    snapshot_uri: Annotated[str, Field(max_length=2048)] | None = None
    evidence: BoundedEvidence | None = None

    @property
    def evidence_members(self) -> EvidenceMembers:
        """The members of its evidence; empty if it has none."""
        return {} if self.evidence is None else self.evidence.members()


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event with its place, and the canonical JSON that is stored, searched and answered."""

    key: EventKey
    event: Event
    data: bytes

    @property
    def index_key(self) -> str:
        """The key of its document in the index."""
        return self.key.index_key

    @property
    def scope(self) -> UserScope:
        """Whose it is."""
        return self.key.scope

    @property
    def text(self) -> str:
        """The text that is embedded."""
        return "\n".join([self.event.digest, ", ".join(self.event.keywords)]).strip()


@dataclass(frozen=True, slots=True)
class WrittenEvent:
    """The result of a write."""

    event_id: str
    replayed: bool
    indexed: bool
    """Whether the index has confirmed it; if not, reconciliation indexes it later."""


def place(event: Event, scope: UserScope) -> StoredEvent:
    """Put the event below its user. Raises MalformedRequest if it names another one, InvalidIdentifier."""
    own = {"tenant_id": scope.tenant_id, "user_id": scope.user_id}
    for name, value in own.items():
        if getattr(event, name) not in (None, value):
            raise MalformedRequest(f"The event's {name} must match the path.", member=name)
    members = event.model_dump(exclude={"evidence"}, exclude_none=True) | own
    if event.evidence is not None:
        members["evidence"] = event.evidence.members()
    return StoredEvent(EventKey(scope, event.event_id), event, canonical(members))


def members_of_event(data: bytes) -> dict[str, Any]:
    """Return the members of a stored event, and whether its digest is an untrusted quotation of a conversation.

    Such a digest is data, and an agent must not follow it as an instruction.
    """
    members = orjson.loads(data)
    evidence = members.get("evidence") or {}
    quotes = "snapshot_uri" in members or "conversation_id" in evidence or "message_ids" in evidence
    return {**members, "untrusted_quotation": quotes}


def load(data: bytes) -> StoredEvent | None:
    """Read stored bytes; None if they are not an event that `place` wrote."""
    try:
        event = Event.model_validate(orjson.loads(data))
        found = place(event, UserScope(event.tenant_id or "", event.user_id or ""))
    except (ValueError, ValidationError, InvalidIdentifier):
        return None
    return found if found.data == data else None
