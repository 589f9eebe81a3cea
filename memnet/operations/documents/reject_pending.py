"""Reject a pending item."""

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.errors import DocumentNotFound
from memnet.domain.documents.commands import RejectPending, WriteResult
from memnet.domain.documents.confirmation import decide_rejection
from memnet.domain.documents.envelope import Envelope
from memnet.domain.documents.write_decision import Decision
from memnet.operations.documents.commit_governed import commit_governed
from memnet.service import Service


async def reject_pending(command: RejectPending, service: Service) -> WriteResult:
    """Take the item out, exactly once; nothing else changes.

    Raises what `domain.confirmation.decide_rejection` and `commit_change` raise; then nothing has changed.
    """

    def decide(known: Catalog, head: Envelope | None) -> Decision:
        if head is None:
            raise DocumentNotFound()
        return decide_rejection(command, known, head)

    return await commit_governed(command, decide, service)
