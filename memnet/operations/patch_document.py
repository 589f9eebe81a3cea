"""Change parts of a document by JSON Patch."""

from memnet.domain.catalog import Catalog
from memnet.domain.draft import Draft, draft_patch
from memnet.domain.envelope import Envelope
from memnet.domain.timestamps import to_text
from memnet.domain.write import PatchDocument, WriteResult
from memnet.operations.commit_governed import commit_governed
from memnet.service import Service


async def patch_document(command: PatchDocument, service: Service) -> WriteResult:
    """Apply the operations under the profile's binding, exactly once, and return the new version's ETag.

    A document under a newer schema version, which another release wrote, is patched under that version if it is
    proven additive to the binding's; its text is read from the container. Raises ProfileNotFound, ProfileForbidden,
    BindingNotFound, BindingMismatch, and what `commit_change` and `domain.draft.draft_patch` raise; then nothing has
    changed.
    """
    named = command.profile_id, command.binding_id, command.actor, command.key
    service.catalog.governance(*named)  # refuses before anything is read

    def decide(known: Catalog, head: Envelope | None) -> Draft:
        rules = known.governance(*named)
        return draft_patch(
            command, rules, head, proposed_at=to_text(service.clock.now()), proposal_id=service.ids.new()
        )

    return await commit_governed(command, decide, service)
