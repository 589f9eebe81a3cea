"""Change parts of a document by JSON Patch."""

from memnet.domain.catalog import Catalog
from memnet.domain.draft import Draft, draft_patch
from memnet.domain.envelope import Envelope
from memnet.domain.timestamps import to_text
from memnet.domain.write import PatchDocument, WriteResult
from memnet.operations.commit_change import commit_change
from memnet.ports import AuditLog, Background, Clock, DocumentStore, IdGenerator


async def patch_document(
    command: PatchDocument,
    *,
    documents: DocumentStore,
    audit: AuditLog,
    catalog: Catalog,
    clock: Clock,
    ids: IdGenerator,
    background: Background,
) -> WriteResult:
    """Apply the operations under the profile's binding, exactly once, and return the new version's ETag.

    Raises ProfileNotFound, ProfileForbidden, BindingNotFound, BindingMismatch, and what `commit_change` and
    `domain.draft.draft_patch` raise; then nothing has changed.
    """
    rules = catalog.governance(command.profile_id, command.binding_id, command.actor, command.key)

    def decide(head: Envelope | None) -> Draft:
        return draft_patch(command, rules, head, proposed_at=to_text(clock.now()), proposal_id=ids.new())

    return await commit_change(
        command, decide, documents=documents, audit=audit, clock=clock, ids=ids, background=background
    )
