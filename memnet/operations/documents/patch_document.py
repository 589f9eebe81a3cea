"""Change parts of a document by JSON Patch."""

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.timestamps import to_text
from memnet.domain.documents.commands import PatchDocument, WriteResult
from memnet.domain.documents.envelope import Envelope
from memnet.domain.documents.write_decision import Decision, decide_patch
from memnet.operations.documents.commit_governed import commit_governed
from memnet.service import Service


async def patch_document(command: PatchDocument, service: Service) -> WriteResult:
    """Apply the operations under the profile's binding, exactly once, and return the new version's ETag.

    A document under a newer schema version, which another release wrote, is patched under that version if it is
    proven additive to the binding's; its text is read from the container. Raises ProfileNotFound, ProfileForbidden,
    BindingNotFound, BindingMismatch, and what `commit_change` and `domain.draft.decide_patch` raise; then nothing has
    changed.
    """
    named = command.profile_id, command.binding_id, command.actor, command.key
    service.catalog.governance(*named)  # refuses before anything is read

    def decide(known: Catalog, head: Envelope | None) -> Decision:
        rules = known.governance(*named)
        return decide_patch(
            command, rules, head, proposed_at=to_text(service.clock.now()), proposal_id=service.ids.new()
        )

    return await commit_governed(command, decide, service)
