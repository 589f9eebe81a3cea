"""Responses about documents, audit records and pending items."""

from typing import Literal

from pydantic import BaseModel, Field

from api.responses.fields import Located, Object, Omitted, OptionalTime, Page, Time
from memnet.domain.core.scope import Json
from memnet.domain.documents.commands import Verdict


class Document(BaseModel):
    """A document: its content, and the envelope that the service owns."""

    doc_id: str
    schema_id: str
    schema_version: str
    created_at: Time
    updated_at: Time
    updated_by: str
    content: Json


class DocumentView(BaseModel):
    """A document and its ETag."""

    etag: str
    document: Document


class SettledStatement(BaseModel):
    """The verdict on a statement, and the entries that it concerns."""

    op_index: int = Field(ge=0, description="The operation that states it.")
    verdict: Verdict = Field(
        description="new: nothing was known about it. same: the entry that says it gets its evidence. beside: other "
        "values hold as well. completed: joined with the open entry. late: it held before the open entry, and is "
        "closed. superseded: it is open, and the entry that was is closed. asked: it waits. kept: it was dropped."
    )
    entry_id: str | None = Field(description="The entry that has it now. null: none has.")
    replaces: Omitted[str] = Field(None, description="The entry that held until this one.")
    replaced_by: Omitted[str] = Field(
        None, description="The entry that held after this one; of a dropped statement, the one that stays."
    )
    pending_id: Omitted[str] = Field(None, description="The pending item in which it waits.")


class Written(BaseModel):
    """The result of a write."""

    etag: str
    change_id: str = Field(description="The id of the change's audit record.")
    sequence: int = Field(ge=1)
    document: Omitted[Document] = Field(
        None, description="In a dry run, for a role that may read it: the document that would be stored."
    )
    redirected: Omitted[list[Object]] = Field(
        None,
        description="Operations that wait in the pending section, with why, and the confidence required and given. "
        "required is null if they wait whatever the confidence.",
    )
    settled: Omitted[list[SettledStatement]] = Field(
        None, description="The verdict on each statement; absent if the patch has none."
    )
    dry_run: Omitted[Literal[True]] = None


class DocumentRow(Located):
    """A document in a list."""

    etag: str
    updated_at: Time
    size: int = Field(description="Characters of the content as canonical JSON.")
    sequence: int


class DocumentPage(Page):
    """A page of documents."""

    documents: list[DocumentRow]


class ShownEntry(BaseModel):
    """The open entry that a question shows."""

    pointer: str = Field(description="The entry's position in the document.")
    entry: Object
    evidence: list[Object] = Field(description="What it rests on, one item for each source.")
    confidence: float | None
    since: OptionalTime = Field(description="Since when it holds.")
    confirmed_by: list[str]


class PendingRow(Located):
    """A pending item and its document."""

    pointer: str = Field(description="The item's position in the document.")
    etag: str = Field(description="The version that was read.")
    item: Object = Field(description="The proposal: its operation, proposer, base and evidence.")
    existing: ShownEntry | None = Field(
        description="Of a question: the open entry that it asks about. null: it is not open any more."
    )


class PendingPage(Page):
    """A page of pending items."""

    pending: list[PendingRow]


class TenantPendingRow(PendingRow):
    """A question that the tenant decides."""

    user_id: str


class TenantPendingPage(Page):
    """A page of questions."""

    pending: list[TenantPendingRow]
