"""The response of the list of entries."""

from typing import Annotated, Literal

from pydantic import Field

from api.responses.fields import Located, Object, Omitted, Page, Time
from memnet.domain.core.access import Reason
from memnet.domain.core.scope import Json
from memnet.domain.history.statements import EntryState


class EntryRow(Located):
    """An entry of a document, and where it comes from."""

    etag: Omitted[str] = Field(None, description="The version that was read; absent if it is in an event.")
    event_id: Omitted[str] = Field(None, description="The event that upkeep moved the entry to.")
    entry_id: Omitted[str] = Field(None, description="Its id; of a waiting entry, the id of the pending item.")
    state: EntryState = Field(
        description="open: it holds. closed: it is a statement that has held. waiting: it waits for confirmation."
    )
    profile_id: Omitted[str] = Field(None, description="A profile whose binding covers the document.")
    binding_id: Omitted[str] = Field(None, description="That binding. A writable one is preferred.")
    writable: bool = Field(description="Whether the caller's principal may change the entry through this binding.")
    section: str = Field(description="The name of the section, for a person.")
    pointer: Omitted[str] = Field(None, description="Its position in the document; absent if it is in an event.")
    text: str = Field(description="The entry in words.")
    value: Annotated[Json, Field(description="The entry as it is stored.")]
    members: Omitted[Object] = Field(
        None, description="Of an object with a text: the names of its members for `text`, `evidence` and the like."
    )
    valid_from: Omitted[str] = Field(None, description="Since when a statement holds.")
    valid_until: Omitted[str] = Field(None, description="Until when a closed statement held.")
    replaces: Omitted[str] = Field(None, description="The id of the statement that held before.")
    replaced_by: Omitted[str] = Field(None, description="The id of the statement that held after.")
    chain: Omitted[list[str]] = Field(
        None,
        description="The ids of the statements that replaced one another, oldest first, this one included. An id that "
        "no entry of the document has is one of an event.",
    )
    question: Omitted[str] = Field(None, description="Of a waiting entry: the question that its confirmation answers.")
    decides: Omitted[Literal["user", "tenant"]] = Field(None, description="Who answers it.")
    confidence: Omitted[float] = Field(None, ge=0, le=1)
    importance: Omitted[float] = Field(None, ge=0, le=1, description="As set when the entry was learnt.")
    live_importance: Omitted[float] = Field(
        None, ge=0, le=1, description="Its importance now: it decays unless recalls return the entry."
    )
    uses: Omitted[int] = Field(
        None, ge=0, description="How often recalls have returned it; absent: it has no id, and is not counted."
    )
    last_used_at: Omitted[Time] = Field(None, description="When a recall returned it last.")
    last_verified_at: Omitted[str] = None
    expires_at: Omitted[str] = Field(None, description="From then on no context contains it.")
    evidence: Omitted[Object] = Field(None, description="Of the entry, or else of its change.")
    confirmed: bool = Field(description="Whether its change was a confirmation.")
    recorded_at: Omitted[Time] = None
    recorded_before: Omitted[Time] = Field(None, description="Of a closed statement in an event: when upkeep moved it.")
    recorded_by: Omitted[str] = Field(None, description="The principal of the change.")
    application: Omitted[str] = Field(None, description="The application that acted for a person.")
    recorded_under: Omitted[str] = Field(None, description="The profile of the change.")
    change_id: Omitted[str] = None
    reason: Omitted[Reason] = None
    proposed_by: Omitted[str] = Field(None, description="The proposer of what was confirmed.")
    proposed_at: Omitted[Time] = None


class EntryPage(Page):
    """A page of entries."""

    entries: list[EntryRow]
