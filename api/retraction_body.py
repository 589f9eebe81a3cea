"""The body of a planned retraction: the source that is taken back, and why."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from api.bodies import Body, Name
from memnet.domain.core.evidence import MAX_MESSAGE_IDS
from memnet.domain.core.scope import SEGMENT
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.events.event import Time, Word
from memnet.domain.governance.retraction import MAX_REASON
from memnet.domain.governance.source import PROMPT_HASH, Source, SourceKind

Segment = Annotated[str, Field(pattern=f"^{SEGMENT.pattern}$")]
NEEDED: dict[SourceKind, tuple[str, ...]] = {
    SourceKind.CONVERSATION: ("conversation_id",),
    SourceKind.SNAPSHOT: ("conversation_id", "snapshot_id"),
    SourceKind.REPLAY: ("replay_id",),
    SourceKind.EVENT: ("event_id",),
    SourceKind.ACTOR: ("actor",),
    SourceKind.MODEL: (),
}
"""The members that a source of each kind must have."""
ALLOWED: dict[SourceKind, tuple[str, ...]] = {
    SourceKind.CONVERSATION: ("message_ids",),
    SourceKind.ACTOR: ("since", "until"),
    SourceKind.MODEL: ("model", "prompt_sha256"),
}
"""The members that it may have besides."""


class SourceBody(Body):
    """A source; `kind` says which of the other members name it."""

    kind: Literal["conversation", "snapshot", "replay", "event", "actor", "model"]
    conversation_id: Segment | None = None
    message_ids: Annotated[list[Word], Field(min_length=1, max_length=MAX_MESSAGE_IDS)] | None = None
    snapshot_id: Segment | None = None
    replay_id: Segment | None = None
    event_id: Segment | None = None
    actor: Name | None = None
    since: Time | None = None
    until: Time | None = None
    model: Name | None = None
    prompt_sha256: Annotated[str, Field(pattern=PROMPT_HASH)] | None = None

    @model_validator(mode="after")
    def _of_its_kind(self) -> "SourceBody":
        given = {name for name in type(self).model_fields if name != "kind" and getattr(self, name) is not None}
        kind = SourceKind(self.kind)
        needed, allowed = set(NEEDED[kind]), set(ALLOWED.get(kind, ()))
        if not needed <= given or not given <= needed | allowed:
            names = ", ".join([*NEEDED[kind], *(f"{name} (optional)" for name in sorted(allowed))])
            raise ValueError(f"a source of the kind {kind} has these members: {names}")
        if kind is SourceKind.MODEL and not given:
            raise ValueError("a source of the kind model has model, prompt_sha256 or both")
        return self

    def source(self) -> Source:
        """Return the source."""
        ids = None if self.message_ids is None else tuple(dict.fromkeys(self.message_ids))
        times = {name: at and to_text(from_text(at)) for name, at in (("since", self.since), ("until", self.until))}
        return Source(**{**self.model_dump(), "kind": SourceKind(self.kind), "message_ids": ids, **times})


class RetractionBody(Body):
    """A source and the reason to take it back."""

    source: SourceBody
    reason: Annotated[str, Field(min_length=1, max_length=MAX_REASON)]
