"""The response of the blame of a document."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from api.responses.fields import Object, Omitted, Page, Time
from memnet.domain.core.access import Reason
from memnet.domain.core.scope import Json
from memnet.domain.history.origin import FurtherKind


class OriginRow(BaseModel):
    """An operation of a change. Of a value that is older than the kept history only `recorded_before` is known."""

    change_id: Omitted[str] = None
    sequence: Omitted[int] = Field(None, ge=1)
    op_index: Omitted[int] = Field(None, ge=0, description="The place of the operation in the record's `ops`.")
    op: Omitted[Literal["add", "replace", "copy", "move"]] = None
    recorded_at: Omitted[Time] = None
    recorded_before: Omitted[Time] = None
    recorded_by: Omitted[str] = Field(None, description="The principal of the change.")
    application: Omitted[str] = Field(None, description="The application that acted for a person.")
    reason: Omitted[Reason] = None
    profile_id: Omitted[str] = Field(None, description="The profile whose rule allowed the change.")
    profile_version: Omitted[str] = None
    binding_id: Omitted[str] = None
    confidence: Omitted[float] = Field(None, ge=0, le=1)
    source_time: Omitted[Time] = None
    evidence: Omitted[Object] = None
    confirmed: bool = Field(description="Whether the change was a confirmation; `recorded_by` confirmed the value.")
    proposed_by: Omitted[str] = Field(None, description="Of a confirmation: who proposed the value.")
    proposed_at: Omitted[Time] = None


class FurtherRow(OriginRow):
    """A further change that the value rests on."""

    kind: FurtherKind = Field(
        description="restated: it wrote the value again, from a source of its own. proposed: it proposed what was "
        "confirmed. merged: it put an entry that was merged into this one. returned: it put the entry that upkeep "
        "returned for confirmation. copied: it copied the value here."
    )


class BeforeRow(OriginRow):
    """A value before, and where it came from."""

    value: Annotated[Json, Field(description="What was there.")]


class BlameRow(OriginRow):
    """A value, and the operation that put it and everything within it that has no row of its own."""

    pointer: str = Field(description="Its position in the document.")
    value: Annotated[Json, Field(description="Absent if something within it has a row of its own.")] = None
    further: list[FurtherRow] = Field(description="What else it rests on, the oldest change first.")
    before: list[BeforeRow] = Field(description="The values before it, the newest first, at most 8.")
    before_known: bool = Field(
        description="Whether `before` is all that is kept. false: the value is older than the records that were read, "
        "or their records are deleted. Ask for its own pointer to read them."
    )


class BlamePage(Page):
    """A page of the values of one version of a document."""

    etag: str = Field(description="The version.")
    change_id: str = Field(description="The newest change of the version.")
    values: list[BlameRow]
