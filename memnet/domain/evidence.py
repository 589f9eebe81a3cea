"""Pointers to where a change or an event comes from."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict

from memnet.domain.json_text import canonical
from memnet.domain.whole_number import Whole

MAX_EVIDENCE_BYTES = 8192


class Span(BaseModel):
    """A stretch of a conversation."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    start: Whole
    end: Whole


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


def _bounded(evidence: Evidence) -> Evidence:
    if len(canonical(evidence.members())) > MAX_EVIDENCE_BYTES:
        raise ValueError(f"must be at most {MAX_EVIDENCE_BYTES} bytes of JSON")
    return evidence


BoundedEvidence = Annotated[Evidence, AfterValidator(_bounded)]
"""Evidence of bounded size."""
