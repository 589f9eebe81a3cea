"""End a document; its history stays."""

from memnet.domain import content_rules
from memnet.domain.draft import Draft, draft_deletion
from memnet.domain.envelope import Envelope
from memnet.domain.errors import DocumentNotFound
from memnet.domain.sensitive_rules import STRICTEST
from memnet.domain.write import DeleteDocument, WriteResult
from memnet.operations.commit_change import commit_change
from memnet.service import Service


async def delete_document(command: DeleteDocument, service: Service) -> WriteResult:
    """Delete the document, exactly once. A later creation goes on in the same history, with ETags of its own.

    Raises FieldDenied for a sensitive note, and what `commit_change` raises; then nothing has changed.
    """

    def decide(head: Envelope | None) -> Draft:
        if head is None:
            raise DocumentNotFound()
        content_rules.check_remarks({"note": command.note}, STRICTEST)
        return draft_deletion(command, head)

    return await commit_change(command, decide, service)
