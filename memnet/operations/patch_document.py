"""Change parts of a document by JSON Patch."""

from dataclasses import replace

from memnet.domain.catalog import Catalog
from memnet.domain.draft import Draft, Governance, draft_patch
from memnet.domain.envelope import Envelope
from memnet.domain.errors import BindingMismatch
from memnet.domain.timestamps import to_text
from memnet.domain.write import PatchDocument, WriteResult
from memnet.operations.commit_change import commit_change
from memnet.operations.read_schema import read_schema
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

    A document under a newer schema version, which another release wrote, is patched under that version if it is
    proven additive to the binding's; its text is read from the container. Raises ProfileNotFound, ProfileForbidden,
    BindingNotFound, BindingMismatch, and what `commit_change` and `domain.draft.draft_patch` raise; then nothing has
    changed.
    """
    rules = catalog.governance(command.profile_id, command.binding_id, command.actor, command.key)

    def decide(head: Envelope | None) -> Draft:
        return draft_patch(command, rules, head, proposed_at=to_text(clock.now()), proposal_id=ids.new())

    async def commit() -> WriteResult:
        return await commit_change(
            command, decide, documents=documents, audit=audit, clock=clock, ids=ids, background=background
        )

    try:
        return await commit()
    except BindingMismatch as mismatch:
        newer = await _newer(rules, mismatch.details["schema_id"], mismatch.details["schema_version"], documents)
        if newer is None:
            raise
        rules = newer
    return await commit()


async def _newer(rules: Governance, schema_id: str, version: str, documents: DocumentStore) -> Governance | None:
    """The rules with a schema version that is not in the catalog; None if the container does not have it either."""
    if schema_id != rules.schema.schema_id:
        return None
    schemas = await read_schema(schema_id, version, rules.schemas, texts=documents.texts)
    return None if schemas is rules.schemas else replace(rules, schemas=schemas)
