"""The request bodies, as models: strict types, and no member that is not listed."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from memnet.domain.errors import MalformedRequest
from memnet.domain.json_text import canonical
from memnet.domain.timestamps import from_text, to_text

MAX_EVIDENCE_BYTES = 8192
MAX_NOTE = 256

Name = Annotated[str, Field(min_length=1, max_length=128)]


class Body(BaseModel):
    """Strict: "1" is not 1, and an unknown member is an error rather than silently without effect."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Span(Body):
    """A stretch of a conversation."""

    start: int
    end: int


class Evidence(BaseModel):
    """Pointers to where a change comes from. Other members are kept as they are."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)

    conversation_id: str | None = None
    message_ids: list[str] | None = None
    snapshot_uri: str | None = None
    span: Span | None = None

    def members(self) -> dict[str, Any]:
        """What was sent, no more."""
        return self.model_dump(exclude_unset=True)


class EvidentBody(Body):
    """A body that may bring evidence of bounded size."""

    evidence: Evidence | None = None

    @field_validator("evidence")
    @classmethod
    def _bounded(cls, evidence: Evidence | None) -> Evidence | None:
        if evidence is not None and len(canonical(evidence.members())) > MAX_EVIDENCE_BYTES:
            raise ValueError(f"must be at most {MAX_EVIDENCE_BYTES} bytes of JSON")
        return evidence

    def evidence_members(self) -> dict[str, Any] | None:
        """The evidence as it was sent, or None."""
        return None if self.evidence is None else self.evidence.members()


class PatchBody(EvidentBody):
    """JSON Patch operations under a profile's binding."""

    profile_id: Name
    binding_id: Name
    ops: list[dict[str, Any]]
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


class AssembleBody(Body):
    """What an orchestrator knows when a conversation starts.

    `conversation_hint` holds `text` and ids it already knows, by the profile's variable, such as `project_id`.
    """

    profile_id: Name
    conversation_hint: dict[str, str | None] = {}
    max_docs: Annotated[int, Field(ge=1)] | None = None
    max_chars_total: Annotated[int, Field(ge=1)] | None = None
    routing_debug: bool = False

    def text(self) -> str:
        """The conversation's text; empty if there is none."""
        return self.conversation_hint.get("text") or ""

    def explicit_ids(self) -> dict[str, str]:
        """The ids that were given."""
        hint = self.conversation_hint.items()
        return {name: value for name, value in hint if name != "text" and value is not None}
