"""End a document; its history stays."""

from memnet.domain.catalog.sensitive_rules import STRICTEST
from memnet.domain.core.errors import DocumentNotFound
from memnet.domain.documents import content_rules
from memnet.domain.documents.commands import DeleteDocument, WriteResult
from memnet.domain.documents.envelope import Envelope
from memnet.domain.documents.write_decision import Decision, decide_deletion
from memnet.operations.documents.commit_change import commit_change
from memnet.service import Service


async def delete_document(command: DeleteDocument, service: Service) -> WriteResult:
    """Delete the document, exactly once. A later creation goes on in the same history, with ETags of its own.

    Raises FieldDenied for a sensitive note, and what `commit_change` raises; then nothing has changed.
    """

    def decide(head: Envelope | None) -> Decision:
        if head is None:
            raise DocumentNotFound()
        content_rules.check_remarks({"note": command.note}, STRICTEST)
        return decide_deletion(command, head)

    return await commit_change(command, decide, service)
