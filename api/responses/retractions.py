"""Responses about retractions."""

from pydantic import BaseModel, Field

from api.responses.fields import Count, Located, Object, Page, Time
from memnet.domain.core.scope import Json
from memnet.domain.governance.retraction import RetractionStatus, ValueFate, Why
from memnet.domain.governance.withdrawn import Fate, WithdrawnKind


class PlannedValueRow(BaseModel):
    """A value that rests on the source."""

    pointer: str = Field(description="Its JSON Pointer in the version of the plan; `-`: an entry that is split off.")
    fate: ValueFate = Field(
        description="removed: it rests on the source alone. put_back: the value before it returns. stripped: it has "
        "another source, and loses the evidence. reopened: a statement holds again. unresolved: it stays."
    )
    why: Why | None = Field(description="Why an unresolved value stays.")
    before: Json = Field(description="The value before.")
    after: Json = Field(description="The value after; null: none.")


class RetractedDocument(Located):
    """What happens to a document."""

    etag: str = Field(description="The version that was planned on.")
    profile_id: str | None = Field(description="The profile by whose rules it is changed.")
    binding_id: str | None
    values: list[PlannedValueRow]
    change_id: str | None = Field(description="The change that applied it.")
    undo_change_id: str | None = Field(description="The change that undid it.")
    not_undone: list[str] = Field(
        description="Pointers of values that an undo could not bring back: another write has changed or deleted them, "
        "or the profile does not allow them any more."
    )


class RetractedItem(BaseModel):
    """Another item that rests on the source."""

    kind: WithdrawnKind
    name: str
    fate: Fate = Field(description="close: it ends as retracted. remove: it goes. strip: it keeps what others said.")


class RetractionRow(BaseModel):
    """A retraction without its plan."""

    retraction_id: str
    source: Object
    reason: str
    status: RetractionStatus
    etag: str = Field(description="The tag of the plan, for If-Match of `:apply`.")
    counts: dict[str, Count] = Field(description="Values by fate, and the number of items.")
    planned_by: str
    applied_by: str | None
    undone_by: str | None
    created_at: Time
    updated_at: Time
    failure: str | None = Field(description="Of a failed one: the code of the error.")
    needs_another: bool = Field(description="Whether another principal than the planner has to apply it.")


class RetractionView(RetractionRow):
    """A retraction with its plan."""

    documents: list[RetractedDocument]
    items: list[RetractedItem]


class RetractionPage(Page):
    """A page of retractions."""

    retractions: list[RetractionRow]
