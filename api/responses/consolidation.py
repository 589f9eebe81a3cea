"""The response about a consolidation."""

from pydantic import BaseModel, Field

from api.responses.fields import Count
from memnet.domain.upkeep.maintenance import EntryAction
from memnet.operations.upkeep import Outcome


class ConsolidatedStatement(BaseModel):
    """A statement that was closed, reworded or proposed."""

    section: str
    action: EntryAction
    entry_id: str = Field(description="The statement.")
    into: str = Field(description="The id of the statement that stays; for proposed: of the pending item.")


class ConsolidatedRow(BaseModel):
    """A document, and the result of one profile's rules."""

    namespace: str
    path: str
    profile_id: str
    binding_id: str
    outcome: Outcome = Field(description="changed: in a dry run, would be changed.")
    problem: str | None = Field(description="Why it was refused or postponed, or why no model was asked.")
    statements: list[ConsolidatedStatement]
    groups: Count = Field(description="In a dry run: how many groups of statements a model would be asked to join.")


class Consolidated(BaseModel):
    """The result of consolidating a user's documents."""

    dry_run: bool
    documents: list[ConsolidatedRow] = Field(description="Those with such rules.")
